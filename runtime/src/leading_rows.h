// Rows [..., C] of several tensors at once: their leading axes, in as few as can be.
#pragma once

#include <array>
#include <initializer_list>

#include "error.h"
#include "tensor_views.h"

namespace attune::runtime {

class LeadingRows {
public:
    static constexpr int most_tensors = 4;
    using Each = std::array<int64_t, most_tensors>; // a number of elements for each tensor

    /** Tensors of one shape but for the last axis; nullptr for one that isn't there, whose strides are 0. */
    LeadingRows(std::initializer_list<const attune_tensor *> tensors) {
        const attune_tensor &first = **tensors.begin();
        for (int32_t i = first.rank - 2; i >= 0; --i) {
            Axis axis = {first.extent[i], {}};
            int index = 0;
            for (const attune_tensor *tensor : tensors)
                axis.stride[index++] = tensor ? effective_stride(*tensor, i) : 0;
            if (axis.extent != 1) add(axis);
        }
    }

    /** Calls visit(rows, strides, offsets) for each run of rows a fixed step apart, until one fails. */
    template <typename Visit> Status for_each(const Visit &visit) const { return walk(count_, {}, visit); }

private:
    struct Axis {
        int64_t extent;
        Each stride;
    };

    void add(const Axis &axis) {
        if (count_ > 0 && continues(axis, axes_[count_ - 1]))
            axes_[count_ - 1].extent *= axis.extent;
        else
            axes_[count_++] = axis;
    }
    static bool continues(const Axis &outer, const Axis &inner) {
        for (int i = 0; i < most_tensors; ++i)
            if (outer.stride[i] != inner.stride[i] * inner.extent) return false;
        return inner.extent * outer.extent <= INT32_MAX;
    }
    template <typename Visit> Status walk(int depth, Each offset, const Visit &visit) const {
        if (depth == 0) return visit(int64_t{1}, Each{}, offset);
        const Axis &axis = axes_[depth - 1];
        if (depth == 1) return visit(axis.extent, axis.stride, offset);
        for (int64_t i = 0; i < axis.extent; ++i) {
            ATTUNE_TRY(walk(depth - 1, offset, visit));
            for (int t = 0; t < most_tensors; ++t)
                offset[t] += axis.stride[t];
        }
        return {};
    }

    Axis axes_[ATTUNE_MAX_RANK];
    int count_ = 0;
};

} // namespace attune::runtime
