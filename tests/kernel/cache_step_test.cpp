// Every attention kernel of f32 over a cache: appended to and attended over in one call, step after step.
#include "attention_test.h"

#include <limits>

#include "cache_model.h"

namespace attune::test {
namespace {

class CacheSteps : public AttentionTest {
protected:
    CacheSetting setting() const {
        CacheSetting s;
        s.dim = head_dim_or(kernel(), 20), s.value_dim = value_dim_or(kernel(), 12), s.schedule = kernel().schedule;
        return s;
    }

    /** A prefill, tokens one by one, a chunk, more queries than new tokens, and the last query alone. */
    void expect_right_steps(const CacheSetting &s) {
        test::expect_right_steps(s, random, {{11, 11}, {1, 1}, {1, 1}, {13, 13}, {9, 4}, {1, 7}, {3, 0}, {0, 5}, {1, 1}});
    }
};
ATTUNE_FOR_EACH_KERNEL(CacheSteps, "attention");

TEST_P(CacheSteps, OneTensorAnItem) { expect_right_steps(setting()); }

TEST_P(CacheSteps, PagesOfAnySize) {
    for (int64_t size : {1, 16, 17, 64}) {
        CacheSetting s = setting();
        s.page_size = size, s.capacity = size * ((64 + size - 1) / size);
        expect_right_steps(s);
    }
}

// Panels of 16 keys lie in a page whole, or not; those at both ends of a window are read in part.
TEST_P(CacheSteps, PagesOfSeveralChunks) {
    for (const char *mask : {"causal", "window(1070, 0)"})
        for (int64_t size : {0, 24, 32}) {
            CacheSetting s = setting();
            s.batch = 1, s.mask = mask, s.page_size = size, s.capacity = 1152;
            test::expect_right_steps(s, random, {{1, 1100}, {1, 1}, {2, 3}});
        }
}

TEST_P(CacheSteps, TokensBeforeHeadsInMemory) {
    for (int64_t size : {0, 16}) {
        CacheSetting s = setting();
        s.page_size = size, s.tokens_first = true;
        expect_right_steps(s);
    }
}

TEST_P(CacheSteps, HeadsInGroups) {
    for (auto [query_heads, key_heads] : {std::pair<int64_t, int64_t>{1, 1}, {8, 1}, {6, 3}}) {
        CacheSetting s = setting();
        s.query_heads = query_heads, s.key_heads = key_heads, s.page_size = 16;
        expect_right_steps(s);
    }
}

TEST_P(CacheSteps, ItemsOfDifferentLengths) {
    for (int64_t size : {0, 16}) {
        CacheSetting s = setting();
        s.batch = 3, s.page_size = size;
        CacheModel cache(s, random);
        cache.expect_right_step(7, 7);
        cache.shorten({7, 0, 3});
        for (auto [queries, tokens] : {std::pair<int64_t, int64_t>{1, 1}, {12, 12}, {1, 1}})
            cache.expect_right_step(queries, tokens);
    }
}

TEST_P(CacheSteps, OtherMasksAndScores) {
    for (const char *mask : {"none", "window(9, 0)", "causal & (window(5, 0) | prefix(3))", "lengths", "window(9, 5) | lengths"}) {
        CacheSetting s = setting();
        s.mask = mask, s.page_size = 16;
        expect_right_steps(s);
    }
    CacheSetting s = setting();
    s.score = "alibi";
    expect_right_steps(s);
}

TEST_P(CacheSteps, AChunkAgainstALongCache) {
    if (is_reference(kernel())) GTEST_SKIP() << "as slow as it is plain";
    CacheSetting s = setting();
    s.batch = 1, s.capacity = 1024, s.page_size = 64;
    CacheModel cache(s, random);
    cache.expect_right_step(1, 700);
    cache.expect_right_step(64, 64);
    cache.expect_right_step(1, 1);
}

TEST_P(CacheSteps, ARingManyTimesRound) {
    for (auto [size, capacity] : {std::pair<int64_t, int64_t>{0, 24}, {8, 24}, {1, 21}, {16, 32}}) {
        CacheSetting s = setting();
        s.ring = true, s.page_size = size, s.capacity = capacity, s.mask = "causal & window(14, 0)";
        SCOPED_TRACE("ring of " + std::to_string(capacity) + " pages of " + std::to_string(size));
        CacheModel cache(s, random);
        for (int64_t tokens : {5, 7, 1, 6, 1, 1, 7, 7, 3, 1, 7, 7, 7, 2, 7, 7})
            cache.expect_right_step(tokens, tokens);
    }
}

TEST_P(CacheSteps, ARingThatComesBackToThePageItBeganWith) {
    for (auto [size, capacity, window] : {std::tuple<int64_t, int64_t, int64_t>{24, 24, 16}, {8, 24, 1}}) {
        CacheSetting s = setting();
        s.ring = true, s.page_size = size, s.capacity = capacity, s.mask = "causal & window(" + std::to_string(window) + ", 0)";
        SCOPED_TRACE("pages of " + std::to_string(size));
        CacheModel cache(s, random);
        for (int64_t tokens : {5, 7, 7, 7, 1, 6})
            cache.expect_right_step(tokens, tokens);
        if (window == 1) cache.expect_right_step(23, 23);
    }
}

TEST_P(CacheSteps, ARingOfItemsOfDifferentLengths) {
    CacheSetting s = setting();
    s.batch = 3, s.ring = true, s.page_size = 8, s.capacity = 24, s.mask = "window(12, 0)", s.score = "alibi";
    CacheModel cache(s, random);
    cache.expect_right_step(8, 8);
    cache.shorten({8, 0, 5});
    for (int64_t tokens : {8, 8, 1, 8, 1, 8, 8})
        cache.expect_right_step(tokens, tokens);
}

TEST_P(CacheSteps, ARingForgetsNothingThatItsMasksNeed) {
    CacheSetting s = setting();
    s.ring = true, s.capacity = 16, s.mask = "causal & window(15, 0)";
    CacheModel cache(s, random);
    for (int step = 0; step < 40; step++)
        cache.expect_right_step(1, 1);
    cache.draw(2, 2); // the first of them would attend to the 16 tokens before it, one of which the second replaces
    const CacheStep refused = cache.step();
    EXPECT_EQ(refused.status.code, ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(refused.status.message, "query 0 of batch item 0 attends to token 25; the ring of 16 tokens has 26 to 41 left; for these 2 "
                                      "queries and 2 new tokens it must be one of 17 tokens or more");
    EXPECT_TRUE(refused.lse.untouched());
    cache.expect_cache_holds_the_record();
}

TEST_P(CacheSteps, WeightsAreOfTheWholeCapacity) {
    CacheSetting s = setting();
    s.page_size = 16, s.capacity = 48;
    CacheModel cache(s, random);
    cache.expect_right_step(9, 9);
    cache.draw(5, 5);
    const CacheStep got = cache.step(true);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    for (int64_t b = 0; b < s.batch; b++) {
        const AttentionAnswer exact = attention_in_double(cache.problem_of(b));
        for (int64_t h = 0, place = 0; h < s.query_heads; h++)
            for (int64_t i = 0; i < 5; i++)
                for (int64_t j = 0; j < 48; j++)
                    EXPECT_NEAR(got.weights(b, h, i, j), j < 14 ? exact.weights[static_cast<size_t>(place++)] : 0.0, 1e-6);
    }
}

/** The cache keeps turned keys, and so each is turned once, by its own position. */
TEST_P(CacheSteps, PositionsTurnQueriesAndNewKeys) {
    CacheSetting s = setting();
    s.position = "rotary(half)", s.batch = 2;
    CacheSetting plain = s;
    plain.position = "none";
    CacheModel turned(s, random), reference(plain, random);
    for (int64_t tokens : {6, 1, 4}) {
        turned.draw(tokens, tokens);
        const Tensor<float> q(turned.q.extent), k(turned.k.extent);
        RotaryOptions options;
        options.offset = turned.lengths[0];
        ASSERT_TRUE(rotary(turned.q.view(), q.view(), options).ok());
        ASSERT_TRUE(rotary(turned.k.view(), k.view(), options).ok());
        reference.q = q, reference.k = k, reference.v = turned.v;
        const CacheStep got = turned.step(), want = reference.step();
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        EXPECT_EQ(got.out.bytes(), want.out.bytes());
    }
}

TEST_P(CacheSteps, WhatIsNotFiniteInTheCacheReachesWhatAttendsToItAlone) {
    CacheSetting s = setting();
    s.batch = 1, s.query_heads = s.key_heads = 1, s.mask = "causal & window(3, 0)";
    CacheModel cache(s, random);
    cache.draw(8, 8);
    cache.v(0, 0, 2, 1) = std::numeric_limits<float>::infinity(), cache.k(0, 0, 6, 0) = NAN;
    const CacheStep got = cache.step();
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    const AttentionAnswer exact = attention_in_double(cache.problem_of(0));
    EXPECT_TRUE(agrees(got.out.values(), exact.out, {1e-5}, 0.2));
}

} // namespace
} // namespace attune::test
