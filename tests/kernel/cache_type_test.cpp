// Attention over caches of other types than f32: of f16 and bf16, and of int8 with scales for all three.
#include <cmath>
#include <limits>

#include "cache_model.h"
#include "kernels.h"

#include "compare.h"

namespace attune::test {
namespace {

bool has_kernel(attune_type dtype, attune_type cache_dtype) {
    for (int32_t i = 0; i < attune_kernel_count(); i++) {
        const attune_kernel &kernel = *attune_kernel_at(i);
        if (kernel.device != ATTUNE_CPU) continue;
        if (std::string(kernel.operation) == "attention" && kernel.dtype == dtype && kernel.cache_dtype == cache_dtype) return true;
    }
    return false;
}

class CacheTypes : public SeededTestWithParam<std::pair<attune_type, attune_type>> {
protected:
    CacheSetting setting() const {
        CacheSetting s;
        s.dtype = GetParam().first, s.cache_dtype = GetParam().second;
        return s;
    }
    bool is_linked() const { return has_kernel(GetParam().first, GetParam().second); }
};
INSTANTIATE_TEST_SUITE_P(All, CacheTypes,
                         ::testing::Values(std::pair{ATTUNE_F16, ATTUNE_F16}, std::pair{ATTUNE_BF16, ATTUNE_BF16},
                                           std::pair{ATTUNE_F32, ATTUNE_I8}, std::pair{ATTUNE_F16, ATTUNE_I8},
                                           std::pair{ATTUNE_BF16, ATTUNE_I8}));

TEST_P(CacheTypes, Steps) {
    if (!is_linked()) GTEST_SKIP() << "no kernel of these types is linked";
    for (int64_t size : {0, 1, 16, 17}) {
        CacheSetting s = setting();
        s.page_size = size, s.capacity = size > 0 ? size * ((64 + size - 1) / size) : 64, s.tokens_first = size == 17;
        expect_right_steps(s, random, {{11, 11}, {1, 1}, {13, 13}, {1, 7}, {3, 0}, {1, 1}});
    }
}

TEST_P(CacheTypes, Rings) {
    if (!is_linked()) GTEST_SKIP() << "no kernel of these types is linked";
    CacheSetting s = setting();
    s.ring = true, s.capacity = 24, s.page_size = 8, s.mask = "causal & window(14, 0)";
    CacheModel cache(s, random);
    for (int64_t tokens : {5, 7, 1, 6, 7, 7, 3, 1, 7, 7})
        cache.expect_right_step(tokens, tokens);
}

/** Many heads share a key, of widths that fill tiles; pages of fewer keys than a panel, of as many, and of more. */
TEST_P(CacheTypes, StepsOfManyRows) {
    if (!is_linked()) GTEST_SKIP() << "no kernel of these types is linked";
    for (int64_t dim : {64, 128, 192})
        for (int64_t size : {0, 8, 16, 48}) {
            CacheSetting s = setting();
            s.batch = 1, s.query_heads = 12, s.key_heads = 2, s.dim = dim, s.value_dim = dim == 192 ? 128 : dim;
            s.page_size = size, s.capacity = 336, s.tokens_first = size == 8;
            expect_right_steps(s, random, {{2, 200}, {1, 1}, {1, 90}, {3, 3}});
        }
}

/** Keys and values that end within a vector, or within what is packed as a whole. */
TEST_P(CacheTypes, StepsOfWidthsThatFillNoVector) {
    if (!is_linked()) GTEST_SKIP() << "no kernel of these types is linked";
    for (const auto &[dim, value_dim] : {std::pair{16, 40}, {24, 8}, {40, 72}, {72, 16}, {80, 80}, {100, 52}, {112, 144}, {200, 100}})
        for (int64_t heads : {1, 5}) {
            CacheSetting s = setting();
            s.batch = 1, s.query_heads = heads, s.key_heads = 1, s.dim = dim, s.value_dim = value_dim;
            s.page_size = heads == 1 ? 0 : 16, s.capacity = 96;
            expect_right_steps(s, random, {{2, 61}, {1, 1}, {2, 18}});
        }
}

/** Of every type that many queries have a kernel for, few have one that splits keys: the other takes many times as long. */
TEST(CachesOfAnyType, AreDecodedByKernelsForFewQueries) {
    for (int32_t i = 0; i < attune_kernel_count(); i++) {
        const attune_kernel &many = *attune_kernel_at(i);
        if (many.device != ATTUNE_CPU || std::string(many.schedule) != "flash") continue;
        for (int64_t dim : {64, 80, 128}) {
            attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
            desc.dtype = many.dtype, desc.cache_dtype = many.cache_dtype, desc.head_dim = dim;
            attune_attention_plan *plan = nullptr;
            ASSERT_EQ(attune_attention_plan_create(&desc, &plan), ATTUNE_OK) << attune_error_message();
            const attune_kernel *few = attune_attention_plan_kernel_for(plan, 1, 8, 2, 4096);
            EXPECT_STREQ(few ? few->schedule : "none", "decode") << many.name << ", width " << dim;
            attune_attention_plan_destroy(plan);
        }
    }
}

class QuantisedCache : public SeededTest {
protected:
    static CacheSetting setting() {
        CacheSetting s;
        s.cache_dtype = ATTUNE_I8, s.batch = 1, s.query_heads = s.key_heads = 1;
        return s;
    }
};

/** A NaN or an Inf makes its row NaN: queries that attend to the row show it, no other does, and rows beside it keep their values. */
TEST_F(QuantisedCache, RowsThatArentFiniteReadAsNaN) {
    if (!has_kernel(ATTUNE_F32, ATTUNE_I8)) GTEST_SKIP() << "no kernel of these types is linked";
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()})
        for (bool in_key : {true, false}) {
            CacheSetting s = setting();
            s.mask = "causal & window(3, 0)";
            CacheModel cache(s, random);
            cache.draw(10, 10);
            (in_key ? cache.k : cache.v)(0, 0, 4, 2) = bad;
            const CacheStep got = cache.step();
            ASSERT_TRUE(got.status.ok()) << got.status.message;
            cache.expect_cache_holds_the_record();
            const std::vector<double> out = got.out.values();
            for (size_t i = 0; i < 10; i++)
                for (size_t d = 0; d < static_cast<size_t>(s.value_dim); d++)
                    EXPECT_EQ(std::isnan(out[i * static_cast<size_t>(s.value_dim) + d]), i >= 4 && i <= 7) << i << " " << d;
        }
}

/** The same of one row, and of more that share a key, whose products may be of pairs or tiles: and no bit of the other rows changes. */
TEST_F(QuantisedCache, RowsThatArentFiniteChangeNoBitOfOthers) {
    constexpr int64_t tokens = 8, back = 3;
    const auto expect_no_change = [](const CacheSetting &s, int64_t queries, int64_t bad, bool in_key) {
        const auto outputs = [&](bool spoilt) {
            Random same(7);
            CacheModel cache(s, same);
            cache.draw(queries, tokens);
            if (spoilt) (in_key ? cache.k : cache.v)(0, 0, bad, 2) = std::numeric_limits<float>::quiet_NaN();
            const CacheStep got = cache.step();
            EXPECT_TRUE(got.status.ok()) << got.status.message;
            return got.out.values();
        };
        const std::vector<double> clean = outputs(false), spoilt = outputs(true);
        ASSERT_EQ(clean.size(), spoilt.size());
        for (size_t i = 0; i < clean.size(); i++) {
            const auto query = tokens - queries + static_cast<int64_t>(i) / s.value_dim % queries;
            if (query >= bad && query <= bad + back)
                EXPECT_TRUE(std::isnan(spoilt[i])) << i << " of width " << s.dim;
            else
                EXPECT_EQ(spoilt[i], clean[i]) << i << " of width " << s.dim;
        }
    };
    CacheSetting s = setting();
    s.mask = "causal & window(3, 0)";
    bool any = false;
    for (const attune_type type : {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16}) {
        if (!has_kernel(type, ATTUNE_I8)) continue;
        any = true;
        s.dtype = type;
        for (int64_t dim : {64, 72})
            for (bool in_key : {true, false}) {
                s.dim = s.value_dim = dim;
                for (int64_t heads : {1, 4, 9})
                    s.query_heads = heads, expect_no_change(s, tokens, 4, in_key);
                s.query_heads = 1, expect_no_change(s, 1, 2, in_key); // that the row may not attend to
            }
    }
    if (!any) GTEST_SKIP() << "no kernel over int8 is linked";
}

TEST_F(QuantisedCache, RowsOfZerosAndOfExtremes) {
    if (!has_kernel(ATTUNE_F32, ATTUNE_I8)) GTEST_SKIP() << "no kernel of these types is linked";
    CacheModel cache(setting(), random);
    cache.draw(5, 5);
    cache.k.fill(0);
    for (int64_t d = 0; d < cache.v.extent[3]; d++) {
        cache.v(0, 0, 0, d) = 0, cache.v(0, 0, 1, d) = 1e-42f * static_cast<float>(d), cache.v(0, 0, 2, d) = 1e30f;
        cache.v(0, 0, 3, d) = static_cast<float>(d) - 0.5f, cache.v(0, 0, 4, d) = d == 0 ? -127.0f : static_cast<float>(d) + 0.5f;
    }
    const CacheStep got = cache.step();
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    cache.expect_cache_holds_the_record();
    EXPECT_TRUE(agrees(got.out.values(), attention_in_double(cache.problem_of(0)).out, {1e24}));
}

/** A row's numbers come back to half a step of max |x| / 127. */
TEST_F(QuantisedCache, IsAsExactAsItsSteps) {
    if (!has_kernel(ATTUNE_F32, ATTUNE_I8)) GTEST_SKIP() << "no kernel of these types is linked";
    CacheModel cache(setting(), random);
    cache.draw(40, 40);
    const Tensor<float> given = cache.v;
    ASSERT_TRUE(cache.step().status.ok());
    const AttentionProblem kept = cache.problem_of(0);
    for (int64_t t = 0; t < 40; t++) {
        float largest = 0;
        for (int64_t d = 0; d < given.extent[3]; d++)
            largest = std::max(largest, std::fabs(given(0, 0, t, d)));
        for (int64_t d = 0; d < given.extent[3]; d++)
            EXPECT_NEAR(kept.v(0, 0, t, d), given(0, 0, t, d), largest / 127 * 0.5001f);
    }
}

} // namespace
} // namespace attune::test
