#include <algorithm>
#include <set>
#include <unordered_map>

#include "copy_parts.h"
#include "data_flow.h"
#include "opcodes.h"

namespace attune::ptx {

namespace {

/** Which registers hold the same value in every iteration of a loop. */
class Invariance {
public:
    Invariance(const Body &body, const ControlFlow &flow, const Loop &loop) : body_(body) {
        for (size_t i = 0; i < body.size(); ++i)
            if (loop.contains[flow.block_of(i)])
                for (const std::string &reg : body.defines(i))
                    definitions_[reg].push_back(i);
    }

    bool holds(const std::string &reg) {
        const auto known = known_.find(reg);
        if (known != known_.end()) return known->second;
        known_[reg] = false; // one that depends on itself changes
        return known_[reg] = compute(reg);
    }

private:
    bool compute(const std::string &reg) {
        const auto found = definitions_.find(reg);
        if (found == definitions_.end()) return true;
        const size_t at = found->second[0];
        if (found->second.size() > 1 || !follows_from_operands(body_[at])) return false;
        const std::vector<std::string> &reads = body_.reads(at);
        return std::all_of(reads.begin(), reads.end(), [&](const std::string &read) { return holds(read); });
    }

    const Body &body_;
    std::unordered_map<std::string, std::vector<size_t>> definitions_; // inside the loop
    std::unordered_map<std::string, bool> known_;
};

/** What a value inside a loop is computed from. */
class Origin {
public:
    Origin(const Body &body, const ControlFlow &flow, const Loop &loop) : body_(body), flow_(flow), loop_(loop) {
        for (size_t i = 0; i < body.size(); ++i)
            if (loop.contains[flow.block_of(i)]) defined_.insert(body.defines(i).begin(), body.defines(i).end());
    }

    /** Whether what `reg` holds right before position `at` is computed from a value that an earlier iteration left. */
    bool is_carried(const std::string &reg, size_t at) {
        if (!defined_.count(reg)) return false;
        const size_t block = flow_.block_of(at);
        if (const size_t found = last_definition(reg, flow_.blocks()[block].begin, at); found != at) return is_computed_from_carried(found);
        std::set<size_t> seen;
        return enters_carried(reg, block, seen);
    }

private:
    /** The same, of what `reg` holds at the block's beginning. */
    bool enters_carried(const std::string &reg, size_t block, std::set<size_t> &seen) {
        if (block == loop_.header) return true;
        for (size_t before : flow_.blocks()[block].predecessors) {
            if (!seen.insert(before).second) continue;
            const Block &from = flow_.blocks()[before];
            const size_t found = last_definition(reg, from.begin, from.end);
            if (found != from.end ? is_computed_from_carried(found) : enters_carried(reg, before, seen)) return true;
        }
        return false;
    }

    bool is_computed_from_carried(size_t definition) {
        if (!visited_.insert(definition).second) return false;
        const std::vector<std::string> &reads = body_.reads(definition);
        return std::any_of(reads.begin(), reads.end(), [&](const std::string &read) { return is_carried(read, definition); });
    }

    /** The last position in [begin, end) that defines the register, or end. */
    size_t last_definition(const std::string &reg, size_t begin, size_t end) const {
        for (size_t i = end; i-- > begin;)
            if (body_.defines(i, reg)) return i;
        return end;
    }

    const Body &body_;
    const ControlFlow &flow_;
    const Loop &loop_;
    std::set<std::string> defined_; // in the loop
    std::set<size_t> visited_;      // definitions
};

} // namespace

std::vector<char> comes_before_barrier_of(const Body &body, const ControlFlow &flow, const Loop &loop) {
    return true_after(flow, body.size(), [&](size_t i) {
        if (!is_barrier(body[i])) return Effect::none;
        return flow.innermost(flow.block_of(i)) == &loop ? Effect::sets : Effect::clears;
    });
}

bool runs_in_every_iteration(const Body &body, const ControlFlow &flow, const Loop &loop, size_t copy) {
    const size_t block = flow.block_of(copy);
    if (block == loop.header) return true;
    Invariance invariance(body, flow, loop);
    const std::vector<char> iteration = flow.reached(loop, loop.header, ControlFlow::none);
    for (size_t b = 0; b < flow.blocks().size(); ++b) {
        if ((!iteration[b] && b != loop.header) || b == block || flow.blocks()[b].successors.size() < 2) continue;
        const bool leads_there = flow.reached(loop, b, ControlFlow::none)[block];
        const bool leads_around = flow.reached(loop, b, block)[loop.header];
        if (!leads_there || !leads_around) continue;
        for (const std::string &reg : body.reads(flow.blocks()[b].end - 1))
            if (!invariance.holds(reg)) return false;
    }
    return true;
}

bool moves_with_loop(const Body &body, const ControlFlow &flow, const Loop &loop, const Operand &address, size_t at) {
    std::vector<std::string> registers;
    append_registers(address, registers);
    return std::any_of(registers.begin(), registers.end(),
                       [&](const std::string &reg) { return Origin(body, flow, loop).is_carried(reg, at); });
}

} // namespace attune::ptx
