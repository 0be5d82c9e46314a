// What kernels for GPUs can count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

/** Of the grid's axes of heads and batch items. */
inline constexpr int64_t most_blocks = 65535;

/** Kernels count places in 32 bits: elements, or words of `unit` elements. */
inline Status check_span(const attune_tensor &tensor, const char *name, int64_t unit = 1) {
    int64_t last = 0;
    for (int32_t i = 0; i < tensor.rank; ++i)
        last += std::max<int64_t>(tensor.extent[i] - 1, 0) * std::abs(effective_stride(tensor, i));
    ATTUNE_REQUIRE(last / unit <= INT32_MAX, "{} spans {} elements; on device cuda it must span at most {}", name, last + 1,
                   unit * (int64_t{INT32_MAX} + 1));
    return {};
}

} // namespace attune::runtime
