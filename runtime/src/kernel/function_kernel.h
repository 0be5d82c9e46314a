// What the calls beside attention share: how their kernels are found, and checks of their arguments.
#pragma once

#include <cstdint>

#include "runtime/src/kernel/call.h"
#include "runtime/src/status.h"

namespace attune::runtime {

/** The prebuilt kernel of an operation for tensors of `type`; `schedule` may be nullptr. */
Status find_function_kernel(const char *operation, const char *schedule, const attune_kernel *&kernel, attune_type type = ATTUNE_F32);

/** The same for tensors on `device`. Kernels of ATTUNE_CUDA launch on the GPU found here, which becomes the call's. */
Status find_function_kernel(const char *operation, const char *schedule, attune_device device, Call &call, const attune_kernel *&kernel,
                            attune_type type = ATTUNE_F32);

/** Checks x and y: of `type`, the same shape, y apart from x or x itself; innermost stride 1 unless `any_strides`; both
 * on `device`. */
Status check_pair(const attune_tensor &x, const attune_tensor &y, int32_t min_rank, int32_t max_rank, bool any_strides = false,
                  attune_device device = ATTUNE_CPU, attune_type type = ATTUNE_F32);

} // namespace attune::runtime
