#include "schedules/cuda/blocks.h"

#include "dsl/axes.h"

namespace attune::schedules::cuda {

using dsl::axes::part;
using Halide::Func;
using Halide::LoopLevel;
using Halide::MemoryType;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

void blocks_of_rows(Func output, const Var &block) {
    using dsl::axes::batch, dsl::axes::dim, dsl::axes::head, dsl::axes::token;
    const Var step("step");
    output.split(dim, step, dim, warp_threads, TailStrategy::GuardWithIf)
        .split(token, block, token, block_rows, TailStrategy::GuardWithIf)
        .reorder(step, dim, token, block, head, batch)
        .fuse(block, head, block)
        .fuse(block, batch, block)
        .gpu_blocks(block)
        .gpu_threads(dim, token);
}

void keep_in_registers(Func partial, const Halide::RDom &chunks, const LoopLevel &block) {
    const Var &lane = dsl::axes::lane;
    partial.compute_at(block).store_in(MemoryType::Register).bound_extent(lane, row_lanes);
    partial.split(lane, part, thread, row_threads).reorder(part, thread).gpu_threads(thread).unroll(part);
    partial.update().split(lane, part, thread, row_threads).reorder(part, chunks, thread).gpu_threads(thread).unroll(part);
}

void reduce_over_block(Func total, const Halide::RDom &lanes, const LoopLevel &block) {
    const RVar own("own"), of_thread("of_thread"), of_group("of_group"), group("group");
    const Var group_thread("group_thread");
    const int groups = 16;
    Func by_thread = total.update().split(lanes.x, own, of_thread, row_threads).rfactor(of_thread, thread);
    by_thread.compute_at(block).store_in(MemoryType::GPUShared).gpu_threads(thread);
    by_thread.update().gpu_threads(thread).unroll(own);
    Func by_group = total.update().split(of_thread, of_group, group, groups).rfactor(group, group_thread);
    by_group.compute_at(block).store_in(MemoryType::GPUShared).gpu_threads(group_thread);
    by_group.update().gpu_threads(group_thread).unroll(of_group);
    total.compute_at(block).store_in(MemoryType::GPUShared);
    total.update().unroll(group);
}

} // namespace attune::schedules::cuda
