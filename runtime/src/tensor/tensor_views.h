// Views of tensors: an element, a part along one axis, memory of the GPU as a tensor.
#pragma once

#include <cstdint>

#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

/** The address of an element, counted in elements from the first. */
inline void *element_at(const attune_tensor &tensor, int64_t element) {
    return static_cast<char *>(tensor.data) + element * static_cast<int64_t>(attune_type_size(tensor.type));
}

/** Indices [first, first + count) of one axis. */
inline attune_tensor slice(attune_tensor tensor, int32_t axis, int64_t first, int64_t count) {
    tensor.data = element_at(tensor, first * effective_stride(tensor, axis));
    tensor.extent[axis] = count;
    return tensor;
}

/** attune_contiguous, of memory on the GPU. */
inline attune_tensor contiguous_on_device(void *data, attune_type type, int32_t rank, const int64_t *extents) {
    attune_tensor tensor = attune_contiguous(data, type, rank, extents);
    tensor.device = ATTUNE_CUDA;
    return tensor;
}

} // namespace attune::runtime
