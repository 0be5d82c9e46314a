// Walks over the rows of a tensor: all its axes but the innermost.
#pragma once

#include <cstdint>

#include "tensor.h"

namespace attune::runtime {

/** Calls visit(byte offset of the first element) for each row of a tensor that has elements. */
template <typename Visit> void for_each_row(const attune_tensor &tensor, const Visit &visit) {
    int64_t index[ATTUNE_MAX_RANK] = {};
    int64_t offset = 0;
    const auto size = static_cast<int64_t>(element_size(tensor.type));
    for (;;) {
        visit(offset * size);
        int32_t axis = tensor.rank - 2;
        for (; axis >= 0; --axis) {
            offset += effective_stride(tensor, axis);
            if (++index[axis] < tensor.extent[axis]) break;
            offset -= effective_stride(tensor, axis) * tensor.extent[axis];
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

} // namespace attune::runtime
