// Softmax for CUDA: a block of threads a row, or a few columns a block.
#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using dsl::axes::step;
using dsl::axes::task;
using Halide::Func;
using Halide::LoopLevel;
using Halide::MemoryType;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int column_lanes = 8; // of a column of the columns' form

} // namespace

dsl::SoftmaxShape softmax_shape(const Machine &, int, const Halide::Expr &) { return {row_lanes, row_lanes}; }

dsl::SoftmaxShape softmax_column_shape(const Machine &, int, const Halide::Expr &) { return {column_lanes, column_lanes}; }

// The row is read three times, from memory once: for the maximum, the sum and the result. Rows are the first axis of the grid, which alone
// may be longer than 65535.
void simt_softmax(const dsl::Softmax &s, const Machine &) {
    Func result = s.result, finish = s.finish;
    const Var column = result.args()[0], i = result.args()[1], row = result.args()[2];
    const LoopLevel block(result, row);
    result.split(i, step, thread, row_threads, TailStrategy::GuardWithIf)
        .reorder(step, thread, row, column)
        .gpu_blocks(row, column)
        .gpu_threads(thread);
    for (Func partial : {s.lane_maximum, s.lane_sum})
        keep_in_registers(partial, s.chunks.front().steps, block);
    for (Func total : {s.maximum, s.sum})
        reduce_over_block(total, s.lanes, block);
    finish.compute_at(result, thread);
    result.specialize(s.special.front()); // no mask: it isn't there to be read
}

// A warp reads 32 columns side by side, and a block's warps take turns down the axis.
void simt_softmax_columns(const dsl::Softmax &s, const Machine &) {
    Func result = s.result, finish = s.finish;
    const Var column = result.args()[0], i = result.args()[1], row = result.args()[2], &lane = dsl::axes::lane;
    const LoopLevel block(result, task);
    result.split(column, task, column, warp_threads, TailStrategy::GuardWithIf)
        .split(i, step, thread, column_lanes, TailStrategy::GuardWithIf)
        .reorder(step, column, thread, task, row)
        .fuse(task, row, task)
        .gpu_blocks(task)
        .gpu_threads(column, thread);
    const std::pair<Func, Func> reductions[] = {{s.lane_maximum, s.maximum}, {s.lane_sum, s.sum}};
    for (auto [partial, total] : reductions) {
        Func shared = partial.in(total);
        shared.compute_at(block).store_in(MemoryType::GPUShared).bound_extent(lane, column_lanes).gpu_threads(column, lane);
        partial.compute_at(shared, column);
        partial.update().reorder(column, lane, s.chunks.front().steps);
        total.compute_at(block).store_in(MemoryType::GPUShared).gpu_threads(column);
        total.update().gpu_threads(column).unroll(s.lanes);
    }
    finish.compute_at(result, column);
    result.specialize(s.special.front());
}

} // namespace attune::schedules::cuda
