// Schedules for CUDA.
#pragma once

#include "dsl/attention_fragments.h"

namespace attune::schedules::cuda {

dsl::FragmentBlocking mma_blocking(int head_dim);
void mma_attention(const dsl::FragmentAttention &attention);

} // namespace attune::schedules::cuda
