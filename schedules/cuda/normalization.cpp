// Layer norm and RMS norm for CUDA: a block of threads a row.
#include "schedules/cuda/blocks.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using Halide::Func;
using Halide::LoopLevel;
using Halide::TailStrategy;
using Halide::Var;

dsl::NormShape norm_shape(const Machine &) { return {block_a_row.lanes(), block_a_row.lanes()}; }

void simt_norm(const dsl::Norm &n, const Machine &) {
    Func y = n.y;
    const Var channel = y.args()[0], row = y.args()[1], step("step"), thread("thread");
    const LoopLevel block(y, row);
    y.split(channel, step, thread, row_threads, TailStrategy::GuardWithIf).reorder(step, thread, row).gpu_blocks(row).gpu_threads(thread);
    const bool centred = n.kind == dsl::NormKind::layer;
    if (centred)
        keep_in_registers(n.lane_sum, n.chunks.front().steps, block, block_a_row), reduce_over_threads(n.sum, n.lanes, block, block_a_row);
    keep_in_registers(n.lane_squares, n.chunks.front().steps, block, block_a_row),
        reduce_over_threads(n.squares, n.lanes, block, block_a_row);
    if (n.deviations.defined()) reduce_over_threads(n.deviations, n.lanes, block, block_a_row);
}

void simt_row_sum(const dsl::RowSum &s, const Machine &) {
    Func y = s.y;
    const Var channel = y.args()[0], row = y.args()[1], step("step"), thread("thread");
    y.split(channel, step, thread, row_threads, TailStrategy::GuardWithIf).reorder(step, thread, row).gpu_blocks(row).gpu_threads(thread);
}

} // namespace attune::schedules::cuda
