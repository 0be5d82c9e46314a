// The merge of chunks' states on a GPU: a thread block for each query of each head.
#pragma once

#include "dsl/chunk_merge.h"

namespace attune::schedules::cuda {

/** What the merge makes: an output whose loop over blocks is `block`. */
struct MergedOutput {
    Halide::Func output;
    Halide::Var block;
    int columns; // of 8 channels, those that a state's maximum and sum are in among them
    Halide::Func closing;
};

/** Schedules `merge`, whose elements are (odd, q, column) of channel 8 column + 2 q + odd, and which `closing` reads beside the output. */
void schedule_chunk_merge(const dsl::ChunkMerge &merge, const MergedOutput &into);

/** A log-sum-exp whose axes are (..., token, head, batch), in the blocks of `output`. */
void store_in_blocks_of(Halide::Func lse, Halide::Func output);

} // namespace attune::schedules::cuda
