// Axes that are joined, and the walk over them, against every index of tensors of random extents and strides.
#include "runtime/src/tensor/joined_axes.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace attune::runtime::joined_axes_test {
namespace {

using Places = std::vector<std::pair<int64_t, int64_t>>; // elements from the first of each of two tensors

/** Each index in turn, the innermost axis first. */
Places every_place(const attune_tensor &a, const attune_tensor &b, int32_t axes) {
    Places places = {{0, 0}};
    for (int32_t axis = 0; axis < axes; ++axis) {
        Places inner;
        for (const auto &[in_a, in_b] : places)
            for (int64_t i = 0; i < a.extent[axis]; ++i)
                inner.emplace_back(in_a + i * a.stride[axis], in_b + i * b.stride[axis]);
        places = inner;
    }
    return places;
}

Places walked(const JoinedAxes &axes) {
    Places places;
    JoinedAxes::Index index;
    do
        places.emplace_back(index.elements[0], index.elements[1]);
    while (axes.advance(index));
    return places;
}

TEST(JoinedAxes, GoToEveryPlaceInOrder) {
    std::mt19937 random(9);
    const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
    for (int round = 0; round < 2000 && !HasFailure(); ++round) {
        int64_t extents[ATTUNE_MAX_RANK];
        for (int64_t &extent : extents)
            extent = pick(1, 3);
        const auto rank = static_cast<int32_t>(pick(1, 6));
        attune_tensor a = attune_contiguous(nullptr, ATTUNE_F32, rank, extents), b = a;
        for (int32_t axis = 0; axis < rank; ++axis)
            if (pick(0, 3) == 0) (pick(0, 1) ? a : b).stride[axis] = pick(-9, 9);
        const auto count = static_cast<int32_t>(pick(0, rank));
        EXPECT_EQ(walked(JoinedAxes({&a, &b}, count)), every_place(a, b, count));
    }
}

TEST(JoinedAxes, AreOneWhereEveryTensorGoesOnByOneStride) {
    const int64_t extents[4] = {2, 3, 1, 5};
    const attune_tensor a = attune_contiguous(nullptr, ATTUNE_F32, 4, extents);
    attune_tensor b = a;
    JoinedAxes axes({&a, &b}, 4);
    EXPECT_EQ(axes.take_innermost().extent, 30);
    EXPECT_TRUE(axes.empty());
    b.stride[0] = 99;
    axes = JoinedAxes({&a, &b}, 4);
    EXPECT_EQ(axes.take_innermost().extent, 15);
    EXPECT_EQ(axes.take_innermost().stride, (JoinedAxes::Each{15, 99}));
    EXPECT_EQ(axes.take_innermost().extent, 1);
    axes = JoinedAxes({&a, nullptr}, 4);
    EXPECT_FALSE(axes.empty());
    EXPECT_EQ(axes.take_innermost().stride, (JoinedAxes::Each{1, 0}));
}

TEST(JoinedAxes, StayWithin32Bits) {
    JoinedAxes axes;
    axes.add({1 << 20, {1}});
    axes.add({1 << 12, {1 << 20}});
    EXPECT_EQ(axes.end() - axes.begin(), 2);
}

} // namespace
} // namespace attune::runtime::joined_axes_test
