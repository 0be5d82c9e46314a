// What plain schedules for CUDA share: a block of threads, and reductions over it.
#pragma once

#include <optional>

#include <Halide.h>

namespace attune::schedules::cuda {

/** Threads side by side along the contiguous axis, and rows of them: a block that copies or maps tensors. */
constexpr int warp_threads = 32, block_rows = 8;

/** Threads of a block that works on one row, and the partial results that each of them keeps: four loads in flight a thread. */
constexpr int row_threads = 256, partials_per_thread = 4;

/** How the threads of a block share a row, or each of several rows. */
struct RowThreads {
    int count;                           // for a row
    std::optional<Halide::Var> row = {}; // the axis of rows that share the block; none: it has one

    int lanes() const { return count * partials_per_thread; }
};

inline const RowThreads block_a_row{row_threads};

/** The threads of a block, in one dimension or in two. */
inline const Halide::Var thread{"thread"}, x{"x"}, y{"y"};

/** `output`, of axes (dim, token, head, batch): a block of threads for block_rows tokens, a warp along the channels. `block` becomes the
 * loop over blocks. */
void blocks_of_rows(Halide::Func output, const Halide::Var &block);

/** `partial`, of axes (..., lane, ...), updated over `chunks`: in registers, at the level of a block. Lane l belongs to thread l mod
 * `threads.count`, so that threads read side by side. */
void keep_in_registers(Halide::Func partial, const Halide::RDom &chunks, const Halide::LoopLevel &block, const RowThreads &threads);

/** `total`, the reduction of such a `partial` over `lanes`: by every thread over its own lanes, then by a few over as many threads each,
 * then by one over what those leave. The order is fixed, and so is the rounding. */
void reduce_over_threads(Halide::Func total, const Halide::RDom &lanes, const Halide::LoopLevel &block, const RowThreads &threads);

} // namespace attune::schedules::cuda
