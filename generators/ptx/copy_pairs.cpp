// Which loads and stores become copies. A copy happens some time after the place where it stands, so that nothing between the two barriers
// around it may touch shared memory other than by copies. And where a loop's copies stay in flight (stages > 1), a tile that is copied to
// the same place in every iteration can't be among them: it is read in the iteration that copies it. Such pairs stay loads and stores.
#include <algorithm>

#include "copy_parts.h"
#include "data_flow.h"
#include "family.h"

namespace attune::ptx {

namespace {

struct Pair {
    size_t load, store;
};

constexpr size_t none = static_cast<size_t>(-1);

/** Whether a load or store moves 16 bytes. */
bool moves_16_bytes(const Instruction &instruction) {
    const std::string &opcode = instruction.opcode;
    const auto ends_with = [&](const std::string &end) {
        return opcode.size() > end.size() && opcode.compare(opcode.size() - end.size(), end.size(), end) == 0;
    };
    for (const char *type : {"b", "u", "s", "f"})
        if (ends_with(std::string(".v2.") + type + "64") || ends_with(std::string(".v4.") + type + "32")) return true;
    return false;
}

bool is_candidate_load(const Body &body, size_t i) {
    const Instruction &load = body[i];
    if (!load.is("ld") || !load.has("global") || !moves_16_bytes(load) || !load.guard.empty() || load.has("volatile")) return false;
    const std::vector<std::string> &values = body.defines(i);
    return std::all_of(values.begin(), values.end(), [&](const std::string &reg) { return body.uses_of(reg) == 1; });
}

bool is_store_of(const Instruction &store, const Instruction &load) {
    return store.is("st") && store.has("shared") && moves_16_bytes(store) && store.guard.empty() && !store.has("volatile") &&
           store.operands[1] == load.operands[0];
}

/** The store of what `load` loads, or none: the load happens at the store's place, so what it reads must be the same there. */
size_t store_of(const Body &body, size_t load) {
    const bool constant = body[load].has("nc");
    for (size_t i = load + 1; i < body.size() && !body.ends_block(i) && !is_barrier(body[i]); ++i) {
        if (is_store_of(body[i], body[load])) return i;
        if (!constant && writes_memory(body[i]) && !body[i].has("shared")) return none;
        for (const std::string &reg : registers_of({body[load].operands[1]}))
            if (body.defines(i, reg)) return none;
    }
    return none;
}

/** Drops the pairs with other accesses to shared memory between the barriers around them. */
std::vector<Pair> undisturbed(const Body &body, const ControlFlow &flow, std::vector<Pair> pairs) {
    while (true) {
        std::vector<char> copied(body.size(), 0);
        for (const Pair &pair : pairs)
            copied[pair.store] = 1;
        const auto effect = [&](size_t i) {
            if (is_barrier(body[i])) return Effect::clears;
            return is_other_access(body[i]) && !copied[i] ? Effect::sets : Effect::none;
        };
        const std::vector<char> before = true_before(flow, body.size(), effect), after = true_after(flow, body.size(), effect);
        const auto disturbed = [&](const Pair &pair) { return before[pair.store] || after[pair.store]; };
        const auto end = std::remove_if(pairs.begin(), pairs.end(), disturbed);
        if (end == pairs.end()) return pairs;
        pairs.erase(end, pairs.end());
    }
}

/** Drops the pairs of a loop that go to the same place in every iteration, if others don't. */
void drop_unmoved(const Body &body, const ControlFlow &flow, const Loop &loop, std::vector<Pair> &pairs) {
    const std::vector<char> closed = comes_before_barrier_of(body, flow, loop);
    const auto is_closed = [&](const Pair &pair) { return closed[pair.store] && loop.contains[flow.block_of(pair.store)]; };
    const auto moves = [&](const Pair &pair) { return moves_with_loop(body, flow, loop, body[pair.store].operands[0], pair.store); };
    const auto moves_inside = [&](const Pair &pair) { return is_closed(pair) && moves(pair); };
    if (std::none_of(pairs.begin(), pairs.end(), moves_inside)) return;
    const auto stays = [&](const Pair &pair) { return is_closed(pair) && !moves(pair); };
    pairs.erase(std::remove_if(pairs.begin(), pairs.end(), stays), pairs.end());
}

} // namespace

int pair_copies(Kernel &kernel, int stages) {
    Body body(kernel);
    std::vector<Pair> pairs;
    for (size_t i = 0; i < body.size(); ++i) {
        if (!is_candidate_load(body, i)) continue;
        const size_t store = store_of(body, i);
        if (store != none) pairs.push_back({i, store});
    }
    if (pairs.empty()) return 0;
    const ControlFlow flow(body);
    for (const Loop &loop : flow.loops())
        if (stages > 1) drop_unmoved(body, flow, loop, pairs);
    pairs = undisturbed(body, flow, pairs);
    for (const Pair &pair : pairs) {
        const Operand from = body[pair.load].operands[1], to = body[pair.store].operands[0];
        const int line = body[pair.store].line;
        body.erase(pair.load);
        body.replace(pair.store, {Body::make(line, "cp.async.cg.shared.global", {to, from, Operand::immediate("16")})});
    }
    body.finish();
    return static_cast<int>(pairs.size());
}

} // namespace attune::ptx
