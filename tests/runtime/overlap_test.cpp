// The overlap tests against the bytes that small tensors touch, one by one.
#include "runtime/src/tensor/overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/src/tensor/tensor.h"

namespace attune::runtime::overlap_test {
namespace {

char arena[1 << 14];
char *const middle = arena + sizeof(arena) / 2;

/** How often each byte around `middle` is touched. */
std::vector<int> touched(const attune_tensor &t) {
    std::vector<int> bytes(sizeof(arena), 0);
    if (!has_elements(t)) return bytes;
    int64_t index[ATTUNE_MAX_RANK] = {};
    const auto size = static_cast<int64_t>(attune_type_size(t.type));
    for (;;) {
        int64_t at = static_cast<char *>(t.data) - arena;
        for (int32_t i = 0; i < t.rank; ++i)
            at += index[i] * t.stride[i] * size;
        for (int64_t byte = 0; byte < size; ++byte)
            ++bytes[static_cast<size_t>(at + byte)];
        int32_t axis = t.rank - 1;
        while (axis >= 0 && ++index[axis] == t.extent[axis])
            index[axis--] = 0;
        if (axis < 0) return bytes;
    }
}

bool share_bytes(const attune_tensor &a, const attune_tensor &b) {
    const std::vector<int> in_a = touched(a), in_b = touched(b);
    for (size_t i = 0; i < in_a.size(); ++i)
        if (in_a[i] && in_b[i]) return true;
    return false;
}

attune_tensor random_tensor(std::mt19937 &random, int64_t least_stride) {
    const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
    attune_tensor t = {};
    t.type = pick(0, 1) ? ATTUNE_F32 : ATTUNE_F16;
    t.data = middle + 4 * pick(-30, 30);
    t.rank = static_cast<int32_t>(pick(1, 4));
    for (int32_t i = 0; i < t.rank; ++i) {
        const int64_t nice[] = {1, 2, 3, 4, 6, 8, 12, 24, 48};
        t.extent[i] = pick(0, 19) == 0 ? 0 : pick(1, 4);
        t.stride[i] = least_stride < 0 && pick(0, 9) == 0 ? pick(-9, 0) : nice[pick(0, 8)];
    }
    return t;
}

TEST(Overlap, NeverCallsSharingTensorsApart) {
    std::mt19937 random(4);
    int shared = 0, proven = 0;
    for (int round = 0; round < 1500; ++round) {
        const attune_tensor a = random_tensor(random, -1), b = random_tensor(random, -1);
        const bool share = share_bytes(a, b);
        ASSERT_TRUE(!share || may_overlap(a, b)) << "round " << round;
        ASSERT_EQ(may_overlap(a, b), may_overlap(b, a)) << "round " << round;
        shared += share;
        proven += !may_overlap(a, b);
    }
    EXPECT_GT(shared, 300);
    EXPECT_GT(proven, 300);
}

TEST(Overlap, NeverCallsSelfSharingTensorsSound) {
    std::mt19937 random(5);
    int overlapping = 0, sound = 0;
    for (int round = 0; round < 1500; ++round) {
        const attune_tensor t = random_tensor(random, -1);
        const std::vector<int> bytes = touched(t);
        const bool twice = *std::max_element(bytes.begin(), bytes.end()) > 1;
        ASSERT_TRUE(!twice || overlaps_itself(t)) << "round " << round;
        overlapping += twice;
        sound += !overlaps_itself(t);
    }
    EXPECT_GT(overlapping, 200);
    EXPECT_GT(sound, 200);
}

/** Slice `part` of a packed buffer with its three parts along `axis` of [batch 2, tokens 5, heads 3, dim 8]. */
attune_tensor slice(int32_t axis, int64_t part) {
    int64_t extents[5] = {2, 5, 3, 8, 0};
    for (int32_t i = 4; i > axis; --i)
        extents[i] = extents[i - 1];
    extents[axis] = 3;
    attune_tensor packed = attune_contiguous(middle, ATTUNE_F32, 5, extents);
    packed.data = static_cast<float *>(packed.data) + part * packed.stride[axis];
    for (int32_t i = axis; i < 4; ++i)
        packed.extent[i] = packed.extent[i + 1], packed.stride[i] = packed.stride[i + 1];
    packed.rank = 4;
    return packed;
}

TEST(Overlap, KnowsSlicesOfPackedProjectionsApart) {
    for (int32_t axis = 0; axis <= 3; ++axis) {
        for (int64_t part = 0; part < 3; ++part)
            for (int64_t other = 0; other < 3; ++other)
                EXPECT_EQ(may_overlap(slice(axis, part), slice(axis, other)), part == other) << "axis " << axis;
        EXPECT_FALSE(overlaps_itself(slice(axis, 1)));
    }
}

TEST(Overlap, KnowsHeadsOfAGroupedPackedProjectionApart) {
    // [tokens, Hq + 2 Hkv, dim] with Hq = 4, Hkv = 2: q, k and v have different heads but the same token stride.
    const int64_t width = 8, row = 8 * width;
    const auto heads = [&](int64_t first, int64_t count) {
        attune_tensor t = {};
        t.data = reinterpret_cast<float *>(middle) + first * width;
        t.type = ATTUNE_F32, t.rank = 3;
        t.extent[0] = count, t.extent[1] = 6, t.extent[2] = width;
        t.stride[0] = width, t.stride[1] = row, t.stride[2] = 1;
        return t;
    };
    EXPECT_FALSE(may_overlap(heads(0, 4), heads(4, 2)));
    EXPECT_FALSE(may_overlap(heads(4, 2), heads(6, 2)));
    EXPECT_TRUE(may_overlap(heads(0, 5), heads(4, 2)));
}

TEST(Overlap, TakesReversedAxes) {
    attune_tensor t = {};
    t.data = middle, t.type = ATTUNE_F32, t.rank = 1;
    t.extent[0] = 10, t.stride[0] = -1;
    EXPECT_FALSE(overlaps_itself(t));
    attune_tensor after = t;
    after.data = middle + 4, after.stride[0] = 1;
    EXPECT_FALSE(may_overlap(t, after));
    after.data = middle;
    EXPECT_TRUE(may_overlap(t, after));
}

TEST(Overlap, RefusesTensorsThatLeaveTheAddressSpace) {
    attune_tensor t = {};
    t.data = middle, t.type = ATTUNE_I64, t.rank = 4;
    for (int32_t i = 0; i < 4; ++i)
        t.extent[i] = INT32_MAX, t.stride[i] = INT32_MAX;
    EXPECT_FALSE(in_address_space(t));
    t.rank = 1, t.stride[0] = -INT32_MAX, t.extent[0] = INT32_MAX;
    EXPECT_FALSE(in_address_space(t)) << "it begins below address 0";
}

} // namespace
} // namespace attune::runtime::overlap_test
