// Barriers of a block: bar.sync, bar.arrive and bar.red.
#include "block.h"

namespace attune::emulator {

void Block::arrive(Warp &w, const Instruction &x, uint32_t id, uint32_t threads, bool waits) {
    if (id >= barriers_per_block) throw launch_error("barrier " + std::to_string(id) + " is none of 0 to 15");
    if (threads % warp_size != 0)
        throw launch_error("a barrier's number of threads, " + std::to_string(threads) + ", is no multiple of 32");
    const auto count = static_cast<uint32_t>(warps.size());
    const uint32_t expected = threads == 0 ? count : threads / warp_size;
    Barrier &barrier = barriers[id];
    if (expected > count) throw launch_error("a barrier waits for more threads than the block has");
    if (barrier.arrived != 0 && barrier.expected != expected)
        throw launch_error("warps expect different numbers of threads at one barrier");
    if ((barrier.arrived >> w.index & 1) != 0) throw launch_error("the warp has already arrived at this barrier");
    barrier.expected = expected;
    barrier.arrived |= 1u << w.index;
    barrier.line = line_of(w);
    if (x.flags & 4) { // a reduction
        const uint32_t value = w.mask(x.rows[2]) ^ (x.flags & 8 ? all_lanes : 0);
        barrier.true_lanes += static_cast<uint32_t>(__builtin_popcount(value & w.lanes));
        barrier.lanes += static_cast<uint32_t>(__builtin_popcount(w.lanes));
        barrier.readers.push_back({&w, &x});
    }
    if (waits) {
        barrier.waiting |= 1u << w.index;
        states[w.index] = State::waiting;
    }
    if (static_cast<uint32_t>(__builtin_popcount(barrier.arrived)) == expected) release(barrier);
}

void Block::release(Barrier &barrier) {
    for (const Reader &reader : barrier.readers) {
        const Instruction &x = *reader.instruction;
        Warp &w = *reader.warp;
        const uint32_t operation = x.flags >> 4; // popc, and, or
        if (operation == 0) {
            for (uint32_t lane = 0; lane < warp_size; ++lane)
                w.row<uint32_t>(x.rows[3])[lane] = barrier.true_lanes;
        } else {
            const bool result = operation == 1 ? barrier.true_lanes == barrier.lanes : barrier.true_lanes > 0;
            w.mask(x.rows[3]) = result ? all_lanes : 0;
        }
    }
    for (uint32_t i = 0; i < warps.size(); ++i) {
        if ((barrier.waiting >> i & 1) != 0) states[i] = State::ready;
    }
    if (races) races->barrier(barrier.arrived, barrier.waiting);
    barrier = Barrier();
}

void Block::fail_waiting() const {
    std::string text = "kernel " + program.kernel.name + ": a barrier that not all warps reach";
    for (const Barrier &barrier : barriers) {
        if (barrier.arrived == 0) continue;
        text += "; at PTX line " + std::to_string(barrier.line) + " " + std::to_string(__builtin_popcount(barrier.arrived)) + " of " +
                std::to_string(barrier.expected) + " warps wait";
    }
    throw launch_error(text);
}

} // namespace attune::emulator
