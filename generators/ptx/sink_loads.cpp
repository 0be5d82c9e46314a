#include "sink_loads.h"

#include <algorithm>
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

/** The blocks that are reached from `from` along `next`, without passing `end`; of `from` itself only where a way leads back. */
std::vector<char> reached(const ControlFlow &flow, size_t from, size_t end, std::vector<size_t> Block::*next) {
    std::vector<char> found(flow.blocks().size());
    std::vector<size_t> open{from};
    while (!open.empty()) {
        const size_t block = open.back();
        open.pop_back();
        for (size_t other : flow.blocks()[block].*next)
            if (other != end && !found[other]) found[other] = 1, open.push_back(other);
    }
    return found;
}

/** Whether what the load at i does can wait while the instructions [begin, end) run. */
bool passes(const Body &body, size_t i, size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
        if (orders_shared_memory(body[k]) || shares_register(body.reads(k), body.defines(i))) return false;
        if (shares_register(body.defines(k), body.reads(i)) || shares_register(body.defines(k), body.defines(i))) return false;
    }
    return true;
}

/** Whether the load at i can wait until block `reader` begins, on all ways there; and runs no more often there. */
bool can_wait(const Body &body, const ControlFlow &flow, size_t i, size_t reader) {
    const size_t from = flow.block_of(i);
    if (!flow.dominates(from, reader)) return false;
    const std::vector<char> ahead = reached(flow, from, reader, &Block::successors),
                            again = reached(flow, reader, from, &Block::successors);
    const std::vector<char> back = reached(flow, reader, from, &Block::predecessors);
    if (again[reader] || !passes(body, i, i + 1, flow.blocks()[from].end)) return false;
    for (size_t block = 0; block < flow.blocks().size(); ++block)
        if (block != from && block != reader && ahead[block] && back[block] &&
            !passes(body, i, flow.blocks()[block].begin, flow.blocks()[block].end))
            return false;
    return true;
}

/** Where the load at i goes: right before the first read of each block that reads it. Empty where it stays. */
std::vector<size_t> places(const Body &body, const ControlFlow &flow, size_t i) {
    std::vector<size_t> found;
    for (size_t reader : readers(body, flow, i)) {
        if (reader == flow.block_of(i) || !can_wait(body, flow, i, reader)) return {};
        size_t read = flow.blocks()[reader].begin;
        while (!shares_register(body.reads(read), body.defines(i)))
            ++read;
        if (!passes(body, i, flow.blocks()[reader].begin, read)) return {};
        found.push_back(read);
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
