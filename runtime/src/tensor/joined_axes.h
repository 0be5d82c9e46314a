// Axes of several tensors at once, in as few as can be, and the walk over their indices.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

/** Axes that tensors share, innermost first. Those of extent 1 are left out, and neighbours are one where every tensor goes through both
 * by one stride. */
class JoinedAxes {
public:
    static constexpr int most_tensors = 4;
    using Each = std::array<int64_t, most_tensors>; // a number of elements for each tensor

    struct Axis {
        int64_t extent = 1;
        Each stride = {};
    };

    JoinedAxes() = default;
    /** The first `count` axes of tensors with the same extents there; nullptr for one that isn't there, whose strides are 0. */
    JoinedAxes(std::initializer_list<const attune_tensor *> tensors, int32_t count) {
        while (--count >= 0) {
            Axis axis = {(*tensors.begin())->extent[count], {}};
            int index = 0;
            for (const attune_tensor *tensor : tensors)
                axis.stride[index++] = tensor ? effective_stride(*tensor, count) : 0;
            add(axis);
        }
    }

    /** Adds an axis outside of those that are there. */
    void add(const Axis &axis) {
        if (axis.extent == 1) return;
        if (count_ > 0 && continues(axis, axes_[count_ - 1]))
            axes_[count_ - 1].extent *= axis.extent;
        else
            axes_[count_++] = axis;
    }

    Axis *begin() { return axes_; }
    Axis *end() { return axes_ + count_; }
    bool empty() const { return count_ == 0; }

    /** Takes one out. */
    Axis take(Axis *axis) {
        const Axis taken = *axis;
        std::copy(axis + 1, end(), axis);
        --count_;
        return taken;
    }
    Axis take_innermost() { return empty() ? Axis() : take(begin()); }

    struct Index {
        std::array<int64_t, ATTUNE_MAX_RANK> of_axis = {};
        Each elements = {}; // from each tensor's first
    };

    /** Moves to the next index, of the innermost axis first; false after the last. No extent is 0. */
    bool advance(Index &index) const {
        for (int i = 0; i < count_; ++i) {
            const Axis &axis = axes_[i];
            const bool last = ++index.of_axis[i] == axis.extent;
            for (int t = 0; t < most_tensors; ++t)
                index.elements[t] += last ? -axis.stride[t] * (axis.extent - 1) : axis.stride[t];
            if (!last) return true;
            index.of_axis[i] = 0;
        }
        return false;
    }

private:
    // A kernel counts the axis that the two become in 32 bits.
    static bool continues(const Axis &outer, const Axis &inner) {
        for (int t = 0; t < most_tensors; ++t)
            if (outer.stride[t] != inner.stride[t] * inner.extent) return false;
        return inner.extent * outer.extent <= INT32_MAX;
    }

    Axis axes_[ATTUNE_MAX_RANK];
    int count_ = 0;
};

/** Calls visit(rows, strides, elements from each tensor's first) for each run of rows a fixed step apart, until one fails. The tensors
 * have rows [..., C] and elements, and are of one shape but for C; nullptr for one that isn't there. */
template <typename Visit> Status for_each_run_of_rows(std::initializer_list<const attune_tensor *> tensors, const Visit &visit) {
    JoinedAxes axes(tensors, (*tensors.begin())->rank - 1);
    const JoinedAxes::Axis rows = axes.take_innermost();
    JoinedAxes::Index index;
    do
        ATTUNE_TRY(visit(rows.extent, rows.stride, index.elements));
    while (axes.advance(index));
    return {};
}

} // namespace attune::runtime
