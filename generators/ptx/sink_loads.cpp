#include "sink_loads.h"

#include <algorithm>
#include <optional>
#include <set>

#include "control_flow.h"

namespace attune::ptx {

namespace {

bool is_matrix_load(const Instruction &instruction) { return instruction.is_code() && instruction.is("ldmatrix"); }

/** What a load of shared memory must not pass. Calls might be anything. */
bool orders_shared_memory(const Instruction &instruction) {
    if (instruction.is_call()) return true;
    if (!instruction.is_code()) return false;
    for (const char *opcode : {"bar", "barrier", "membar", "fence", "cp", "atom", "red", "wgmma"})
        if (instruction.is(opcode)) return true;
    return instruction.is("st") && !instruction.has("global");
}

bool shares_register(const std::vector<std::string> &a, const std::vector<std::string> &b) {
    return std::any_of(a.begin(), a.end(), [&](const std::string &reg) { return std::find(b.begin(), b.end(), reg) != b.end(); });
}

/** The blocks that read what instruction i writes. */
std::set<size_t> readers(const Body &body, const ControlFlow &flow, size_t i) {
    std::set<size_t> blocks;
    for (size_t k = 0; k < body.size(); ++k)
        if (shares_register(body.reads(k), body.defines(i))) blocks.insert(flow.block_of(k));
    return blocks;
}

/** The blocks from `from` to `to`, where each but the first has one predecessor; nothing where that isn't the way. */
std::vector<size_t> only_path(const ControlFlow &flow, size_t from, size_t to) {
    std::vector<size_t> path{to};
    while (path.back() != from) {
        const std::vector<size_t> &before = flow.blocks()[path.back()].predecessors;
        if (before.size() != 1 || path.size() > flow.blocks().size()) return {};
        path.push_back(before[0]);
    }
    return {path.rbegin(), path.rend()};
}

/** The first instruction of the path that reads the results of the load at i; nothing where something in between keeps the load. */
std::optional<size_t> first_read(const Body &body, const ControlFlow &flow, size_t i, const std::vector<size_t> &path) {
    for (size_t block : path) {
        const Block &range = flow.blocks()[block];
        for (size_t k = block == path.front() ? i + 1 : range.begin; k < range.end; ++k) {
            if (shares_register(body.reads(k), body.defines(i))) return k;
            if (orders_shared_memory(body[k])) return std::nullopt;
            if (shares_register(body.defines(k), body.reads(i)) || shares_register(body.defines(k), body.defines(i))) return std::nullopt;
        }
    }
    return std::nullopt;
}

/** Where the load at i goes: right before the first read of each block that reads it. Empty where it stays. */
std::vector<size_t> places(const Body &body, const ControlFlow &flow, size_t i) {
    std::vector<size_t> found;
    for (size_t reader : readers(body, flow, i)) {
        if (reader == flow.block_of(i)) return {};
        const std::vector<size_t> path = only_path(flow, flow.block_of(i), reader);
        const std::optional<size_t> read = path.empty() ? std::nullopt : first_read(body, flow, i, path);
        if (!read || flow.block_of(*read) != reader) return {};
        found.push_back(*read);
    }
    return found;
}

} // namespace

void sink_matrix_loads(Kernel &kernel) {
    Body body(kernel);
    const ControlFlow flow(body);
    for (size_t i = 0; i < body.size(); ++i) {
        if (!is_matrix_load(body[i]) || !body[i].guard.empty()) continue;
        const std::vector<size_t> reads = places(body, flow, i);
        const Instruction load = body[i];
        for (size_t read : reads)
            body.put_before(read, {load});
        if (!reads.empty()) body.erase(i);
    }
    body.finish();
}

} // namespace attune::ptx
