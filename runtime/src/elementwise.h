// What softmax and the positional encodings share.
#pragma once

#include <cstdint>

#include "status.h"

namespace attune::runtime {

/** The prebuilt f32 kernel of an operation; `schedule` may be nullptr. */
Status find_elementwise(const char *operation, const char *schedule, const attune_kernel *&kernel);

/** Checks x and y: f32, the same shape, y apart from x or x itself. */
Status check_pair(const attune_tensor &x, const attune_tensor &y, int32_t min_rank, int32_t max_rank);

/** Positions offset ... offset + tokens - 1 fit in int32, which kernels count in. */
Status check_positions(int64_t offset, int64_t tokens);

Status check_base(double base);

} // namespace attune::runtime
