// Attention on a GPU: plans of device ATTUNE_CUDA.
#pragma once

#include "runtime/src/attention/checks.h"
#include "runtime/src/cuda/device.h"
#include "runtime/src/cuda/mask.h"

namespace attune::runtime {

/** Checks everything about a run that can be checked without reading the GPU's memory, and fills in its shape and window. */
Status check_cuda_attention(const attune_attention_plan &plan, const attune_attention_args &args, AttentionShape &shape,
                            CudaWindow &window);

/** Checks and launches. `args` and `call` have the right sizes. */
Status run_cuda_attention(const attune_attention_plan &plan, const attune_attention_args &args, attune_call *call);

/** What a run without keys gives: zeros, and the log-sum-exp of the sinks alone. */
Status answer_without_keys(const CudaDevice &device, const attune_attention_args &args, Call &call);

} // namespace attune::runtime
