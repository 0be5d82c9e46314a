// Integers of a tensor, whichever of the two types it has.
#pragma once

#include <cstdint>

#include "runtime/src/status.h"

namespace attune::runtime {

/** check_tensor for an input of type I32 or I64. */
Status check_integers(const attune_tensor &tensor, const char *name, int32_t min_rank, int32_t max_rank);
inline Status check_integers(const attune_tensor &tensor, const char *name, int32_t rank) {
    return check_integers(tensor, name, rank, rank);
}

/** The element `element` places from the first of a tensor of type I32 or I64. */
inline int64_t integer_at(const attune_tensor &tensor, int64_t element) {
    return tensor.type == ATTUNE_I64 ? static_cast<const int64_t *>(tensor.data)[element]
                                     : static_cast<const int32_t *>(tensor.data)[element];
}

/** Element `index` of a rank-1 tensor of type I32 or I64. */
inline int64_t read_integer(const attune_tensor &tensor, int64_t index) { return integer_at(tensor, index * tensor.stride[0]); }

/** Element (row, index) of a rank-2 tensor of type I32 or I64. */
inline int64_t read_integer(const attune_tensor &tensor, int64_t row, int64_t index) {
    return integer_at(tensor, row * tensor.stride[0] + index * tensor.stride[1]);
}

} // namespace attune::runtime
