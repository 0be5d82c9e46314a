// The interval algebra against sets of keys held one by one.
#include "runtime/src/mask/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace attune::runtime::intervals_test {
namespace {

constexpr int32_t universe = 24;

using Keys = std::vector<bool>;
using Set = std::vector<Interval>;

Keys keys_of(const Interval *set, size_t size) {
    Keys keys(universe, false);
    for (size_t i = 0; i < size; ++i)
        for (int32_t j = set[i].begin; j < set[i].end; ++j)
            keys[static_cast<size_t>(j)] = true;
    return keys;
}

Set set_of(const Keys &keys) {
    Set set;
    for (int32_t j = 0; j < universe; ++j) {
        if (!keys[static_cast<size_t>(j)]) continue;
        if (!set.empty() && set.back().end == j) {
            ++set.back().end;
        } else {
            set.push_back({j, j + 1});
        }
    }
    return set;
}

Keys random_keys(std::mt19937 &random) {
    Keys keys(universe);
    std::bernoulli_distribution present(std::uniform_real_distribution<>(0, 1)(random));
    for (auto &&key : keys)
        key = present(random);
    return keys;
}

bool is_tidy(const Interval *set, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (set[i].begin >= set[i].end || set[i].begin < 0 || set[i].end > universe || (i > 0 && set[i].begin <= set[i - 1].end))
            return false;
    return true;
}

template <typename Combine> Keys combine_keys(const Keys &a, const Keys &b, const Combine &combine) {
    Keys keys(universe);
    for (size_t j = 0; j < keys.size(); ++j)
        keys[j] = combine(a[j], b[j]);
    return keys;
}

TEST(Intervals, AgreeWithSetsOfKeys) {
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        const Keys keys_a = random_keys(random), keys_b = random_keys(random);
        const Set a = set_of(keys_a), b = set_of(keys_b);
        Interval out[2 * universe];

        size_t size = intersect(a.data(), a.size(), b.data(), b.size(), out);
        ASSERT_TRUE(is_tidy(out, size));
        ASSERT_EQ(keys_of(out, size), combine_keys(keys_a, keys_b, [](bool x, bool y) { return x && y; }));
        ASSERT_LE(size + 1, std::max<size_t>(a.size() + b.size(), 1));

        size = unite(a.data(), a.size(), b.data(), b.size(), out);
        ASSERT_TRUE(is_tidy(out, size));
        ASSERT_EQ(keys_of(out, size), combine_keys(keys_a, keys_b, [](bool x, bool y) { return x || y; }));
        ASSERT_LE(size, a.size() + b.size());

        size = complement(a.data(), a.size(), universe, out);
        ASSERT_TRUE(is_tidy(out, size));
        ASSERT_EQ(keys_of(out, size), combine_keys(keys_a, keys_a, [](bool x, bool) { return !x; }));
        ASSERT_LE(size, a.size() + 1);
    }
}

} // namespace
} // namespace attune::runtime::intervals_test
