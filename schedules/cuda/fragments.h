// What the schedules of attention in fragments share.
#pragma once

#include "dsl/attention/fragments.h"

namespace attune::schedules {

/** Schedules all that is computed for a tile of rows, in a block of threads of `output`: its loop over blocks is `block`, and its threads
 * are (a.q, a.g, a.warp). */
void schedule_fragment_steps(const dsl::FragmentAttention &a, Halide::Func output, const Halide::Var &block);

dsl::FragmentBlocking mma_blocking(int head_dim);
void mma_attention(const dsl::FragmentAttention &a);

/** Applied by mma_attention. */
dsl::FragmentBlocking wgmma_blocking(int head_dim);

/** Applied by split_kv_attention: a warp of 16 rows. */
dsl::FragmentBlocking split_kv_blocking(int head_dim);
void split_kv_attention(const dsl::FragmentAttention &a);

} // namespace attune::schedules
