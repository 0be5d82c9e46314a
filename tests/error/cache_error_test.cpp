// One test for each bad argument of a cache.
#include <cmath>
#include <cstring>

#include "error_test.h"

namespace attune::test::cache_error_test {
namespace {

/** 3 tokens a batch item, behind 5 and 2, into pages of 4 tokens. */
struct GoodCache {
    Tensor<float> q{{2, 4, 3, 8}}, k{{2, 2, 3, 8}}, v{{2, 2, 3, 6}}, out{{2, 4, 3, 6}};
    Tensor<float> cache_k{{6, 2, 4, 8}}, cache_v{{6, 2, 4, 6}}, scale{{6, 2, 4}}, bias{{1, 1, 1, 24}}, weights{{2, 4, 3, 12}};
    Tensor<int32_t> lengths{{2}}, table{{2, 3}};
    Tensor<int64_t> offsets{{2}};
    attune_tensor table_view, scale_view, lengths_view, offsets_view, bias_view, weights_view;
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_args args;
    attune_cache cache;

    GoodCache() {
        q.fill(1), k.fill(1), v.fill(1), bias.fill(0), lengths(0) = 5, lengths(1) = 2, offsets.fill(4);
        for (int64_t p = 0; p < 6; p++)
            table(p / 3, p % 3) = static_cast<int32_t>(5 - p);
        table_view = table.view(), scale_view = scale.view(), lengths_view = lengths.view(), offsets_view = offsets.view();
        bias_view = bias.view(), weights_view = weights.view();
        desc.head_dim = 8, desc.value_dim = 6, desc.mask = "causal & window(4, 0)";
        attune_attention_args_init(&args), attune_cache_init(&cache);
        args.q = q.view(), args.k = k.view(), args.v = v.view(), args.out = out.view(), args.cache = &cache;
        cache.k = cache_k.view(), cache.v = cache_v.view(), cache.lengths = lengths_view, cache.block_table = &table_view;
    }
    GoodCache(const GoodCache &) = delete;

    void without_table() { cache.block_table = nullptr, cache.k.extent[0] = cache.v.extent[0] = 2; }
    attune_status run() {
        attune_attention_plan *plan = nullptr;
        attune_status status = attune_attention_plan_create(&desc, &plan);
        if (status != ATTUNE_OK) return status;
        status = attune_attention_run(plan, &args, nullptr);
        attune_attention_plan_destroy(plan);
        return status;
    }
    bool untouched() const {
        return out.untouched() && cache_k.untouched() && cache_v.untouched() && scale.untouched() && weights.untouched();
    }
};

using Good = GoodCache;
class CacheError : public ::testing::TestWithParam<BadCall<Good>> {};

TEST(CacheErrorControl, TheGoodCallRuns) {
    for (const bool table : {true, false})
        for (const int ring : {0, 1}) {
            Good good;
            good.cache.ring = ring, good.cache_k.fill(2), good.cache_v.fill(2);
            if (!table) good.without_table(), good.lengths(0) = 1, good.lengths(1) = 0;
            EXPECT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
            EXPECT_FALSE(good.out.untouched());
            EXPECT_EQ(good.cache_k(table ? 4 : 0, 0, 1, 0), 1); // the first new token of item 0
        }
}

/** Of 8 and 5 tokens of 12: what the kernel reads past them may be another item's. */
TEST(CacheErrorControl, ScoresPastTheTokensAreNone) {
    for (const attune_score_stage stage : {ATTUNE_SCORES_SCALED, ATTUNE_SCORES_CAPPED, ATTUNE_SCORES_MASKED}) {
        Good good;
        good.cache_k.fill(2), good.cache_v.fill(2);
        good.args.scores = &good.weights_view, good.args.score_stage = stage;
        ASSERT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
        for (int64_t b = 0; b < 2; b++)
            for (int64_t j = 0; j < 12; j++) {
                const float score = good.weights(b, 3, 2, j); // of the last query, whose window is 5 tokens
                const bool scored = stage != ATTUNE_SCORES_MASKED || j >= (b == 0 ? 3 : 0);
                EXPECT_EQ(std::isfinite(score), scored && j < (b == 0 ? 8 : 5)) << "item " << b << ", key " << j << ": " << score;
            }
    }
}

TEST_P(CacheError, IsNamedAndNothingIsWritten) {
    Good call;
    GetParam().spoil(call);
    expect_error(call.run(), GetParam().status, GetParam().words);
    EXPECT_TRUE(call.untouched());
}

void make_ring(Good &g) { g.cache.ring = 1; }

const BadCall<Good> tensor_errors[] = {
    {"CacheOfAnotherSize", [](Good &g) { g.cache.struct_size = 3; }, {"cache.struct_size", "3", "attune_cache_init"}},
    {"KeysNull", [](Good &g) { g.cache.k.data = nullptr; }, {"cache.k.data", "NULL"}},
    {"KeysOfAnotherType", [](Good &g) { g.cache.k.type = ATTUNE_I8; }, {"cache.k.type", "i8", "f32"}},
    {"KeysRank", [](Good &g) { g.cache.k.rank = 3; }, {"cache.k.rank", "3", "4"}},
    {"KeysHeads", [](Good &g) { g.cache.k.extent[1] = 1; }, {"cache.k.extent[1]", "1", "2", "heads of k"}},
    {"KeysWidth", [](Good &g) { g.cache.k.extent[3] = 7; }, {"cache.k.extent[3]", "7", "8", "head_dim"}},
    {"KeysStride", [](Good &g) { g.cache.k.stride[3] = 2; }, {"cache.k.stride[3]", "2", "1"}},
    {"KeysBroadcast", [](Good &g) { g.cache.k.stride[0] = 0; }, {"cache.k.stride[0]", "0"}},
    {"NoPages", [](Good &g) { g.cache.k.extent[0] = g.cache.v.extent[0] = 0; }, {"cache.k.extent[0]", "0", "1 or more"}},
    {"ValuesNull", [](Good &g) { g.cache.v.data = nullptr; }, {"cache.v.data", "NULL"}},
    {"ValuesPages", [](Good &g) { g.cache.v.extent[0] = 5; }, {"cache.v.extent[0]", "5", "6", "cache.k"}},
    {"ValuesPageSize", [](Good &g) { g.cache.v.extent[2] = 3; }, {"cache.v.extent[2]", "3", "4", "cache.k"}},
    {"ValuesWidth", [](Good &g) { g.cache.v.extent[3] = 5; }, {"cache.v.extent[3]", "5", "6", "value_dim"}},
    {"ItemsWithoutATable", [](Good &g) { g.cache.block_table = nullptr; }, {"cache.k.extent[0]", "6", "2", "no block table"}},
    {"ScaleOfF32", [](Good &g) { g.cache.k_scale = &g.scale_view; }, {"cache.k_scale", "i8", "f32"}},
    {"NewTokens", [](Good &g) { g.cache.new_tokens = 1; }, {"k has", "new tokens", "1", "cache.new_tokens", "attune_kv_cache_begin"}},
    {"TableType", [](Good &g) { g.table_view.type = ATTUNE_F32; }, {"cache.block_table.type is f32; it must be i32 or i64"}},
    {"TableRank", [](Good &g) { g.table_view.rank = 1; }, {"cache.block_table.rank", "1", "2"}},
    {"TableRows", [](Good &g) { g.table_view.extent[0] = 1; }, {"cache.block_table.extent[0]", "1", "2", "batch"}},
    {"LengthsNull", [](Good &g) { g.cache.lengths.data = nullptr; }, {"cache.lengths.data", "NULL"}},
    {"LengthsType", [](Good &g) { g.cache.lengths.type = ATTUNE_F32; }, {"cache.lengths.type is f32; it must be i32 or i64"}},
    {"LengthsExtent", [](Good &g) { g.cache.lengths.extent[0] = 1; }, {"cache.lengths.extent[0]", "1", "2", "batch"}},
    {"NewKeysAndValues", [](Good &g) { g.args.v.extent[2] = 2; }, {"v.extent[2]", "2", "3"}},
    {"OutInTheCache", [](Good &g) { g.args.out.data = g.cache.k.data; }, {"cache.k", "out", "overlap"}},
    {"NewKeysInTheCache", [](Good &g) { g.args.k.data = g.cache.k.data; }, {"cache.k", "k", "overlap"}},
    {"KeysOverValues", [](Good &g) { g.cache.v.data = g.cache.k.data; }, {"cache.v", "cache.k", "overlap"}},
    {"OutOverTheOffsets",
     [](Good &g) { g.args.offsets = &g.offsets_view, g.args.out.data = g.offsets_view.data; },
     {"out", "offsets", "overlap"}},
    {"LengthsInTheCache", [](Good &g) { g.cache.lengths.data = static_cast<float *>(g.cache.k.data) + 8; }, {"cache.lengths"}},
    {"TableInTheCache",
     [](Good &g) { g.table_view.data = g.args.out.data, g.lengths.fill(0), g.args.k.extent[2] = g.args.v.extent[2] = 0; },
     {"out", "cache.block_table", "overlap"}},
};
const BadCall<Good> number_errors[] = {
    {"LengthNegative", [](Good &g) { g.lengths(1) = -1; }, {"cache.lengths[1]", "-1", "0 or more"}},
    {"LengthPastTheCapacity", [](Good &g) { g.lengths(0) = 10; }, {"cache.lengths[0]", "10", "3 new tokens", "at most 9", "capacity"}},
    {"LengthPastTheCapacityWithoutATable",
     [](Good &g) { g.without_table(), g.lengths.fill(2); },
     {"cache.lengths[0]", "2", "3 new tokens", "at most 1"}},
    {"LengthOfARingPast32Bits",
     [](Good &g) { make_ring(g), g.lengths(1) = INT32_MAX - 2; },
     {"cache.lengths[1]", "2147483645", "at most 2147483644", "32 bits"}},
    {"MoreNewTokensThanCapacity",
     [](Good &g) { g.without_table(), g.cache.k.extent[2] = g.cache.v.extent[2] = 2, g.lengths.fill(0); },
     {"k has 3 new tokens", "at most 2", "capacity"}},
    {"PagePastTheEnd", [](Good &g) { g.table(0, 1) = 6; }, {"cache.block_table[0, 1]", "6", "0 to 5"}},
    {"PageNegative", [](Good &g) { g.table(1, 1) = -1; }, {"cache.block_table[1, 1]", "-1", "0 to 5"}},
    {"TwoItemsOnOnePage", [](Good &g) { g.table(1, 0) = g.table(0, 1); }, {"cache.block_table", "page 4", "two places"}},
    {"TwoEntriesOfOnePage", [](Good &g) { g.table(1, 1) = g.table(1, 0); }, {"cache.block_table", "page 2", "two places"}},
    {"KeyLengthsToo", [](Good &g) { g.args.key_lengths = &g.lengths_view; }, {"key_lengths", "NULL", "cache.lengths"}},
    {"OffsetAndOffsets", [](Good &g) { g.args.has_offset = 1, g.args.offsets = &g.offsets_view; }, {"offset", "offsets", "only one"}},
    {"OffsetsExtent", [](Good &g) { g.offsets_view.extent[0] = 1, g.args.offsets = &g.offsets_view; }, {"offsets.extent[0]", "1", "2"}},
    {"BottomRight", [](Good &g) { g.desc.mask = "causal(bottom_right)"; }, {"bottom_right", "cache"}},
    {"BottomRightOfAScore", [](Good &g) { g.desc.score = "alibi(bottom_right)"; }, {"bottom_right", "cache"}},
    {"BottomRightOfAPosition", [](Good &g) { g.desc.position = "rotary(half, bottom_right)"; }, {"bottom_right", "cache"}},
    {"RingWithoutAWindow",
     [](Good &g) { make_ring(g), g.desc.mask = "causal", g.lengths(0) = 40; },
     {"query 0 of batch item 0", "token 0", "ring of 12", "31 to 42"}},
    {"RingWithoutAWindowAfterWholeRounds",
     [](Good &g) { make_ring(g), g.desc.mask = "causal", g.lengths(0) = 21; },
     {"query 0 of batch item 0", "token 0", "ring of 12", "12 to 23"}},
    {"RingWithAWindowTooWideAfterWholeRounds",
     [](Good &g) { make_ring(g), g.desc.mask = "window(10, 0)", g.lengths(0) = 21; },
     {"query 0 of batch item 0", "token 11", "ring of 12", "12 to 23"}},
    {"RingWithAQueryBeforeAllThatIsLeft",
     [](Good &g) {
         make_ring(g), g.desc.mask = "window(1, 0)", g.lengths.fill(40), g.offsets(0) = 40, g.offsets(1) = 2;
         g.args.offsets = &g.offsets_view;
     },
     {"query 0 of batch item 1", "token 1", "ring of 12", "31 to 42"}},
    {"RingWithAWindowTooWide",
     [](Good &g) { make_ring(g), g.desc.mask = "causal & window(10, 0)", g.lengths(1) = 40; },
     {"query 0 of batch item 1", "token 30", "ring of 12", "31 to 42"}},
    {"RingWithAnAlignment", [](Good &g) { make_ring(g), g.desc.mask = "causal(top_left)"; }, {"alignment", "ring"}},
    {"RingWithAPrefix", [](Good &g) { make_ring(g), g.desc.mask = "causal | prefix(2)"; }, {"prefix", "ring", "window"}},
    {"RingWithABias", [](Good &g) { make_ring(g), g.args.bias = &g.bias_view; }, {"bias.extent[3]", "24", "ring", "1"}},
    {"RingWithWeights", [](Good &g) { make_ring(g), g.args.weights = &g.weights_view; }, {"weights", "ring"}},
    {"RingWithDropout", [](Good &g) { make_ring(g), g.args.dropout = 0.5f; }, {"dropout", "0.5", "ring"}},
    {"CacheType", [](Good &g) { g.desc.cache_dtype = ATTUNE_F16; }, {"desc.cache_dtype", "f16", "i8"}},
};

INSTANTIATE_TEST_SUITE_P(Tensors, CacheError, ::testing::ValuesIn(tensor_errors), bad_call_name<Good>);
INSTANTIATE_TEST_SUITE_P(Numbers, CacheError, ::testing::ValuesIn(number_errors), bad_call_name<Good>);

/** Plans for caches of int8. */
struct GoodInt8 : GoodCache {
    std::vector<int8_t> bytes = std::vector<int8_t>(6 * 2 * 4 * 14);
    Tensor<float> other_scale{{6, 2, 4}};
    attune_tensor other_view;

    GoodInt8() {
        desc.cache_dtype = ATTUNE_I8, other_view = other_scale.view();
        cache.k.type = cache.v.type = ATTUNE_I8, cache.k.data = bytes.data(), cache.v.data = bytes.data() + 6 * 2 * 4 * 8;
        cache.k_scale = &scale_view, cache.v_scale = &other_view;
    }
};
class Int8CacheError : public ::testing::TestWithParam<BadCall<GoodInt8>> {};

TEST(Int8CacheErrorControl, TheGoodCallRuns) {
    GoodInt8 good;
    EXPECT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_FALSE(good.scale.untouched());
}

TEST_P(Int8CacheError, IsNamedAndNothingIsWritten) {
    GoodInt8 call;
    const std::vector<int8_t> before = call.bytes;
    GetParam().spoil(call);
    expect_error(call.run(), GetParam().status, GetParam().words);
    EXPECT_TRUE(call.untouched() && call.other_scale.untouched() && call.bytes == before);
}

const BadCall<GoodInt8> int8_errors[] = {
    {"NoCache", [](GoodInt8 &g) { g.args.cache = nullptr; }, {"cache is NULL", "i8"}},
    {"NoScale", [](GoodInt8 &g) { g.cache.k_scale = nullptr; }, {"cache.k_scale", "NULL"}},
    {"NoScaleOfValues", [](GoodInt8 &g) { g.cache.v_scale = nullptr; }, {"cache.v_scale", "NULL"}},
    {"ScaleType", [](GoodInt8 &g) { g.scale_view.type = ATTUNE_F16; }, {"cache.k_scale.type", "f16", "f32"}},
    {"ScaleRank", [](GoodInt8 &g) { g.scale_view.rank = 2; }, {"cache.k_scale.rank", "2", "3"}},
    {"ScaleTokens", [](GoodInt8 &g) { g.other_view.extent[2] = 3; }, {"cache.v_scale.extent[2]", "3", "4"}},
    {"ScalesOverOneAnother", [](GoodInt8 &g) { g.cache.v_scale = &g.scale_view; }, {"cache.v_scale", "cache.k_scale", "overlap"}},
    {"CacheOfF32", [](GoodInt8 &g) { g.cache.k.type = ATTUNE_F32; }, {"cache.k.type", "f32", "i8"}},
};
INSTANTIATE_TEST_SUITE_P(Int8, Int8CacheError, ::testing::ValuesIn(int8_errors), bad_call_name<GoodInt8>);

} // namespace
} // namespace attune::test::cache_error_test
