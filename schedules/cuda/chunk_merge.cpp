#include "schedules/cuda/chunk_merge.h"

#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"

namespace attune::schedules::cuda {

using namespace dsl::axes;
using Halide::Func;
using Halide::MemoryType;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

namespace {

// Threads (q, column of channels, group of chunks) as many as a block may have, or half: each goes through the chunks of its group, which
// leaves few loads that wait for one another. How chunks are grouped depends on nothing but their number.
int groups_of_chunks(int columns) { return columns <= 16 ? 16 : columns <= 32 ? 8 : 4; }

const Var turn{"turn"}, group{"group"};

// The maximum, and the factors of all chunks: a warp's work.
void schedule_factors(const dsl::ChunkMerge &merge, const MergedOutput &into) {
    Func joint = merge.joint, factor = merge.factor;
    Func largest = joint.update().rfactor(merge.chunks.x, thread);
    Func all_largest = largest.in(joint);
    all_largest.split(thread, y, x, 4).gpu_threads(x, y);
    largest.compute_at(all_largest, x);
    // By a thread of its own, in registers: left to the block, each step of the loop would be followed by a barrier.
    Func shared_joint = joint.in({factor, into.closing});
    shared_joint.bound_extent(token, 1).gpu_threads(token);
    joint.compute_at(shared_joint, token).update().unroll(merge.chunks.x);
    factor.split(chunk, turn, thread, warp_threads, TailStrategy::GuardWithIf).split(thread, y, x, 4);
    factor.reorder(turn, x, y).gpu_threads(x, y);
    for (Func f : {all_largest, shared_joint, factor})
        f.compute_at(into.output, into.block).store_in(MemoryType::GPUShared);
}

} // namespace

void schedule_chunk_merge(const dsl::ChunkMerge &merge, const MergedOutput &into) {
    schedule_factors(merge, into);
    Func merged = merge.merged;
    const Var odd = merged.args()[0], q = merged.args()[1], column = merged.args()[2];
    const RVar own("own"), of_group("of_group");
    Func by_group = merged.update().split(merge.merges.x, own, of_group, groups_of_chunks(into.columns)).rfactor(of_group, group);
    Func all_groups = by_group.in(merged);
    all_groups.reorder(odd, q, column, group).gpu_threads(q, column, group).unroll(odd);
    by_group.compute_at(all_groups, q).vectorize(odd).update().reorder(odd, own, merge.merges.y).vectorize(odd).unroll(own);
    merged.bound(odd, 0, 2).reorder(odd, q, column).gpu_threads(q, column).unroll(odd);
    merged.update().reorder(odd, of_group, q, column).gpu_threads(q, column).unroll(odd).unroll(of_group);
    for (Func f : {all_groups, merged})
        f.compute_at(into.output, into.block).store_in(MemoryType::GPUShared);
}

void store_in_blocks_of(Func lse, Func output) {
    const Var only("only"), other("other");
    lse.split(token, token, only, 1).split(only, other, only, 1).reorder(only, other, token, head, batch);
    lse.gpu_blocks(token, head, batch).gpu_threads(only, other);
    lse.compute_with(output, token);
}

} // namespace attune::schedules::cuda
