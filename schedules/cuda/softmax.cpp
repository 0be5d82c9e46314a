// Softmax for CUDA: a block of threads a row, or a warp a row, or a few columns a block.
#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using dsl::axes::part;
using dsl::axes::step;
using dsl::axes::task;
using Halide::Func;
using Halide::LoopLevel;
using Halide::MemoryType;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int column_lanes = 8;  // of a column of the columns' form
constexpr int rows_of_warps = 4; // in a block; with eight, rows took 0 to 4 % longer on an H200

constexpr int elements_at_once = 4; // that a thread reads before it stores the first of them

const RowThreads warp_a_row{warp_threads}, wide_block_a_row{1024};

dsl::SoftmaxShape shape_for(const RowThreads &threads) { return {threads.lanes(), threads.lanes()}; }

// A row's elements, dealt to so many threads.
void deal_elements(Func result, const Var &i, int threads) {
    result.split(i, step, thread, threads, TailStrategy::GuardWithIf)
        .split(step, step, part, elements_at_once, TailStrategy::GuardWithIf)
        .unroll(part);
}

// Called last: the code for rows without a mask is a copy of what is scheduled by then.
void stages_of_rows(const dsl::Softmax &s, const LoopLevel &block, const RowThreads &threads) {
    for (Func partial : {s.lane_maximum, s.lane_sum})
        keep_in_registers(partial, s.chunks.front().steps, block, threads);
    for (Func total : {s.maximum, s.sum})
        reduce_over_threads(total, s.lanes, block, threads);
    Func result = s.result, finish = s.finish;
    finish.compute_at(result, thread);
    result.specialize(s.special.front()); // no mask: it isn't there to be read
}

// The row is read three times, from memory once: for the maximum, the sum and the result. Rows are the first axis of the grid, which alone
// may be longer than 65535.
void block_of_threads(const dsl::Softmax &s, const RowThreads &threads) {
    Func result = s.result;
    const Var column = result.args()[0], i = result.args()[1], row = result.args()[2];
    deal_elements(result, i, threads.count);
    result.reorder(part, step, thread, row, column).gpu_blocks(row, column).gpu_threads(thread);
    stages_of_rows(s, LoopLevel(result, row), threads);
}

} // namespace

dsl::SoftmaxShape softmax_shape(const Machine &, const dsl::SoftmaxInputs &) { return shape_for(block_a_row); }

dsl::SoftmaxShape softmax_wide_shape(const Machine &, const dsl::SoftmaxInputs &) { return shape_for(wide_block_a_row); }

dsl::SoftmaxShape softmax_warp_shape(const Machine &, const dsl::SoftmaxInputs &) { return shape_for(warp_a_row); }

dsl::SoftmaxShape softmax_column_shape(const Machine &, const dsl::SoftmaxInputs &) { return {column_lanes, column_lanes}; }

void simt_softmax(const dsl::Softmax &s, const Machine &) { block_of_threads(s, block_a_row); }

// Of a long row: fewer of them are read at a time, so that more of each is still in the second-level cache when it is read again.
void wide_softmax(const dsl::Softmax &s, const Machine &) { block_of_threads(s, wide_block_a_row); }

// Of a short row, of which most of a block's threads would have nothing, and all of them wait for each other.
void warps_softmax(const dsl::Softmax &s, const Machine &) {
    Func result = s.result;
    const Var column = result.args()[0], i = result.args()[1], row = result.args()[2];
    result.split(row, task, row, rows_of_warps, TailStrategy::GuardWithIf);
    deal_elements(result, i, warp_a_row.count);
    result.reorder(part, step, thread, row, task, column).gpu_blocks(task, column).gpu_threads(thread, row);
    stages_of_rows(s, LoopLevel(result, task), {warp_a_row.count, row});
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
