// Cache writes, element by element against their definition: cache[b, ..., (starts[b] + t) mod capacity, ...] = update[b, ..., t, ...].
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "attune/attune.hpp"

namespace attune::runtime::cache_write_test {
namespace {

using Extents = std::vector<int64_t>;

/** How a tensor lies in memory: strides that follow the axes from slowest to fastest, with `gap` elements after each fastest run. */
struct Layout {
    std::vector<size_t> order;
    int64_t gap = 0;
};

struct Case {
    const char *name;
    Extents cache;
    int32_t axis;
    int64_t tokens;
    std::vector<int64_t> starts; // empty: none given
    bool circular = false;
    Layout cache_layout = {}, update_layout = {};
};
void PrintTo(const Case &c, std::ostream *stream) { *stream << c.name; }

/** Memory of T, numbered from `first` on, and a view of it. */
template <typename T> struct Memory {
    Memory(const Extents &extents, const Layout &layout, int first) {
        view = attune_contiguous(nullptr, ATTUNE_F32, static_cast<int32_t>(extents.size()), extents.data());
        std::vector<size_t> order = layout.order;
        if (order.empty()) order.resize(extents.size()), std::iota(order.begin(), order.end(), 0);
        int64_t next = 1;
        for (size_t place = order.size(); place-- > 0;) {
            view.stride[order[place]] = next;
            next = next * extents[order[place]] + (place + 1 == order.size() ? layout.gap : 0);
        }
        values.resize(static_cast<size_t>(next));
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<T>(first + static_cast<int>(i));
        view.data = values.data();
        view.type = sizeof(T) == 8 ? ATTUNE_I64 : sizeof(T) == 4 ? ATTUNE_F32 : sizeof(T) == 2 ? ATTUNE_BF16 : ATTUNE_BOOL;
    }
    T &at(const Extents &index) {
        int64_t place = 0;
        for (size_t i = 0; i < index.size(); ++i)
            place += index[i] * view.stride[i];
        return values[static_cast<size_t>(place)];
    }
    std::vector<T> values;
    attune_tensor view;
};

bool next_index(Extents &index, const Extents &extents) {
    for (size_t axis = extents.size(); axis-- > 0;) {
        if (++index[axis] < extents[axis]) return true;
        index[axis] = 0;
    }
    return false;
}

size_t axis_of(const Case &c) { return static_cast<size_t>(c.axis < 0 ? c.axis + static_cast<int32_t>(c.cache.size()) : c.axis); }

template <typename T> void check(const Case &c) {
    const size_t axis = axis_of(c);
    Extents update_extents = c.cache;
    update_extents[axis] = c.tokens;
    Memory<T> cache(c.cache, c.cache_layout, 0), update(update_extents, c.update_layout, 100);
    Memory<T> expected = cache;
    Extents index(c.cache.size(), 0);
    bool more = std::find(update_extents.begin(), update_extents.end(), 0) == update_extents.end();
    for (; more; more = next_index(index, update_extents)) {
        Extents place = index;
        const int64_t start = c.starts.empty() ? 0 : c.starts[static_cast<size_t>(index[0])];
        place[axis] = (start % c.cache[axis] + index[axis]) % c.cache[axis];
        expected.at(place) = update.at(index);
    }
    const auto batch = static_cast<int64_t>(c.starts.size());
    const TensorView starts = attune_contiguous(const_cast<int64_t *>(c.starts.data()), ATTUNE_I64, 1, &batch);
    const attune::Status status = cache_write(cache.view, update.view, {c.axis, c.starts.empty() ? nullptr : &starts, c.circular});
    EXPECT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(cache.values, expected.values) << "elements of " << sizeof(T) << " bytes";
}

class CacheWrite : public ::testing::TestWithParam<Case> {};

TEST_P(CacheWrite, PutsEachTokenInItsPlaceAndNothingElsewhere) {
    check<uint8_t>(GetParam());
    check<uint16_t>(GetParam());
    check<float>(GetParam());
    check<int64_t>(GetParam());
}

const Case cases[] = {
    {"AtZero", {2, 3, 5, 4}, -2, 2, {}},
    {"AtStartsOfTheirOwn", {2, 3, 5, 4}, -2, 2, {3, 1}},
    {"OneToken", {2, 3, 5, 4}, 2, 1, {4, 0}},
    {"AWholeCache", {2, 3, 5, 4}, 2, 5, {0, 0}},
    {"NoTokens", {2, 3, 5, 4}, 2, 0, {5, 0}},
    {"NoItems", {0, 3, 5, 4}, 2, 2, {}},
    {"NoCapacity", {2, 3, 0, 4}, 2, 0, {7, 0}, true},
    {"RankTwo", {3, 6}, 1, 2, {0, 2, 4}},
    {"RankThree", {3, 4, 5}, -2, 2, {1, 2, 0}},
    {"RankEight", {2, 1, 2, 1, 4, 1, 2, 1}, 4, 3, {1, 0}},
    {"TheLastAxis", {2, 3, 4, 5}, -1, 2, {1, 3}},
    {"TheAxisAfterTheBatch", {2, 5, 3, 4}, 1, 2, {3, 0}},
    {"RoundTheEnd", {3, 2, 5, 3}, -2, 3, {4, 3, 2}, true},
    {"RoundTheEndFarPastIt", {2, 2, 5, 3}, -2, 5, {12, (int64_t(1) << 62) + 1}, true},
    {"RoundTheEndAlongTheLastAxis", {2, 2, 5}, -1, 4, {4, 7}, true},
    {"TokensFirstInTheUpdate", {2, 3, 5, 4}, -2, 2, {3, 1}, false, {}, {{0, 2, 1, 3}}},
    {"TokensFirstInTheCache", {2, 3, 5, 4}, -2, 3, {2, 4}, true, {{0, 2, 1, 3}, 2}, {}},
    {"InnermostApart", {2, 3, 5, 4}, -2, 2, {3, 1}, false, {{0, 3, 1, 2}, 1}, {{3, 2, 1, 0}, 2}},
};
INSTANTIATE_TEST_SUITE_P(Cases, CacheWrite, ::testing::ValuesIn(cases),
                         [](const ::testing::TestParamInfo<Case> &info) { return info.param.name; });

TEST(CacheWriteViews, ATokenSeenByEveryHeadThroughAStrideOfZero) {
    std::vector<float> cache(12, 0), token = {5, 6};
    TensorView update(token.data(), {1, 3, 1, 2}, {2, 0, 2, 1});
    ASSERT_TRUE(cache_write(TensorView(cache.data(), {1, 3, 2, 2}), update).ok());
    EXPECT_EQ(cache, (std::vector<float>{5, 6, 0, 0, 5, 6, 0, 0, 5, 6, 0, 0}));
}

TEST(CacheWriteViews, StridesOfAxesOfOneDontCount) {
    std::vector<float> cache(8, 0), token = {5, 6};
    TensorView update(token.data(), {1, 1, 1, 2}, {INT64_MAX, INT64_MIN, -1, 1});
    ASSERT_TRUE(cache_write(TensorView(cache.data(), {1, 1, 4, 2}, {INT64_MIN, INT64_MAX, 2, 1}), update).ok());
    EXPECT_EQ(cache, (std::vector<float>{5, 6, 0, 0, 0, 0, 0, 0}));
}

TEST(CacheWriteViews, StartsOf32BitsWithAStride) {
    std::vector<float> cache(6, 0), tokens = {1, 2, 3};
    std::vector<int32_t> starts = {1, -9, 0, -9, 1};
    const TensorView view(starts.data(), {3}, {2});
    ASSERT_TRUE(cache_write(TensorView(cache.data(), {3, 2}), TensorView(tokens.data(), {3, 1}), {1, &view}).ok());
    EXPECT_EQ(cache, (std::vector<float>{0, 1, 2, 0, 0, 3}));
}

} // namespace
} // namespace attune::runtime::cache_write_test
