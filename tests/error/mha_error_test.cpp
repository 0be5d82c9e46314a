// One test for each bad argument of multi-head attention.
#include "error_test.h"

namespace attune::test::mha_error_test {
namespace {

/** B 2, N 5, M 7, 4 heads that share 2; d_in 11, kdim 8, vdim 3, D 6, Dv 5, d_out 9. */
struct GoodMha {
    Tensor<float> query{{2, 5, 11}}, key{{2, 7, 8}}, value{{2, 7, 3}}, out{{2, 5, 9}, {{}, 2}}, weights{{2, 4, 5, 7}}, residual{{2, 5, 9}};
    Tensor<float> wq{{24, 11}}, wk{{12, 8}}, wv{{10, 3}}, wo{{9, 20}}, bias{{24}};
    Tensor<uint8_t> mask{{5, 7}}, padding{{2, 7}};
    attune_tensor key_view, value_view, weights_view, residual_view, wo_view, bias_view, mask_view, padding_view;
    attune_mha_desc desc;
    attune_mha_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_cache ring; // of nothing yet
    attune_mha_desc *desc_pointer = &desc;
    attune_mha_args *args_pointer = &args;
    bool run_without_layer = false;

    GoodMha() {
        for (const Tensor<float> *t : {&query, &key, &value, &residual, &wq, &wk, &wv, &wo, &bias})
            t->fill(0.5f);
        mask.fill(0), padding.fill(0);
        key_view = key.view(), value_view = value.view(), weights_view = weights.view(), residual_view = residual.view();
        wo_view = wo.view(), bias_view = bias.view(), mask_view = mask.view(), padding_view = padding.view();
        attune_mha_desc_init(&desc), attune_mha_args_init(&args);
        desc.heads = 4, desc.kv_heads = 2, desc.query_weight = wq.view(), desc.key_weight = wk.view(), desc.value_weight = wv.view();
        desc.query_bias = &bias_view, desc.output_weight = &wo_view, desc.context_length = 7;
        args.query = query.view(), args.key = &key_view, args.value = &value_view, args.out = out.view();
        args.residual = &residual_view, args.mask = &mask_view, args.key_padding = &padding_view, args.polarity = ATTUNE_TRUE_MASKS;
        args.attention.weights = &weights_view;
        attune_cache_init(&ring), ring.ring = 1;
    }
    GoodMha(const GoodMha &) = delete;

    attune_status run() {
        attune_mha *layer = nullptr;
        attune_status status = run_without_layer ? ATTUNE_OK : attune_mha_create(desc_pointer, &layer);
        if (status != ATTUNE_OK) return status;
        status = attune_mha_run(layer, args_pointer, &call);
        attune_mha_destroy(layer);
        return status;
    }
    bool outputs_untouched() const { return out.untouched() && weights.untouched(); }
};

class MhaError : public ::testing::TestWithParam<BadCall<GoodMha>> {};

TEST(MhaErrorControl, TheGoodCallRuns) { EXPECT_EQ(GoodMha().run(), ATTUNE_OK) << attune_error_message(); }

TEST(MhaErrorControl, NullIsFine) {
    attune_mha_desc_init(nullptr), attune_mha_args_init(nullptr), attune_mha_destroy(nullptr);
    EXPECT_EQ(attune_mha_out(nullptr), 0);
    EXPECT_EQ(attune_mha_bytes(nullptr), 0u);
    GoodMha good;
    EXPECT_EQ(attune_mha_create(&good.desc, nullptr), ATTUNE_INVALID_ARGUMENT);
}

// Each mask alone is small, of tensors that are repeated; together they have 2^64 cells.
TEST(MhaErrorControl, MoreCellsOfMasksThanCanBeCounted) {
    constexpr int64_t size = 65536;
    std::vector<float> row(size, 0.5f);
    std::vector<uint8_t> attends(size, 1);
    attends[5] = 0;
    const TensorView output_weight(row.data(), {1, size});
    MultiHeadAttentionDesc desc;
    desc.heads = size, desc.head_dim = 1, desc.output_weight = &output_weight;
    const auto layer = MultiHeadAttention::create(desc);
    ASSERT_TRUE(layer.ok()) << layer.status().message;
    const TensorView tokens(row.data(), {size, size, size}, {0, 0, 1});
    MultiHeadAttentionArgs args(tokens, TensorView(reinterpret_cast<float *>(uintptr_t{1} << 48), {size, size, 1})); // never written to
    TensorView mask(attends.data(), ATTUNE_BOOL, {1, size, size, 1}), padding(attends.data(), ATTUNE_BOOL, {size, size});
    mask.stride[1] = mask.stride[2] = padding.stride[0] = 0;
    args.key = &tokens, args.mask = &mask, args.key_padding = &padding, args.polarity = ATTUNE_TRUE_ATTENDS;
    const Status status = layer->run(args);
    EXPECT_EQ(status.code, ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(status.message, "mask with key_padding has 2^62 elements or more; fewer are supported");
}

TEST_P(MhaError, IsNamedAndNothingIsWritten) {
    GoodMha call;
    GetParam().spoil(call);
    expect_error(call.run(), GetParam().status, GetParam().words);
    EXPECT_TRUE(call.outputs_untouched());
}

const BadCall<GoodMha> desc_errors[] = {
    {"NoDesc", [](GoodMha &g) { g.desc_pointer = nullptr; }, {"desc", "NULL"}},
    {"DescOfAnotherSize", [](GoodMha &g) { g.desc.struct_size = 3; }, {"struct_size", "3", "attune_mha_desc_init"}},
    {"Type", [](GoodMha &g) { g.desc.dtype = ATTUNE_F16; }, {"desc.dtype is f16; it must be f32 or bf16"}},
    {"NoHeads", [](GoodMha &g) { g.desc.heads = 0; }, {"heads", "0", "1"}},
    {"KvHeadsNegative", [](GoodMha &g) { g.desc.kv_heads = -1; }, {"kv_heads", "-1", "4"}},
    {"KvHeadsDoNotDivide", [](GoodMha &g) { g.desc.kv_heads = 3; }, {"heads", "4", "3"}},
    {"QueryWidthIsNoMultiple",
     [](GoodMha &g) { g.desc.query_weight.extent[0] = 23, g.desc.query_bias = nullptr; },
     {"query_weight", "23", "heads", "4"}},
    {"KeyWidthIsNoMultiple", [](GoodMha &g) { g.desc.key_weight.extent[0] = 11; }, {"key_weight", "11", "kv_heads", "2"}},
    {"ValueWidthIsNoMultiple", [](GoodMha &g) { g.desc.value_weight.extent[0] = 9; }, {"value_weight", "9", "kv_heads", "2"}},
    {"KeyHeadsAreOfAnotherWidth", [](GoodMha &g) { g.desc.key_weight.extent[0] = 10; }, {"key_weight", "5", "6", "query_weight"}},
    {"HeadDimIsAnother", [](GoodMha &g) { g.desc.head_dim = 7; }, {"head_dim", "7", "6"}},
    {"NoWeightAndNoHeadDim",
     [](GoodMha &g) { g.desc.query_weight.rank = 0, g.desc.query_bias = nullptr; },
     {"head_dim", "0", "query_weight"}},
    {"BiasWithoutWeight", [](GoodMha &g) { g.desc.query_weight.rank = 0; }, {"query_bias", "query_weight"}},
    {"WeightRank", [](GoodMha &g) { g.desc.value_weight.rank = 3; }, {"value_weight", "3", "2"}},
    {"WeightType", [](GoodMha &g) { g.desc.key_weight.type = ATTUNE_I32; }, {"key_weight.type is i32; it must be f32 or bf16"}},
    {"BiasExtent", [](GoodMha &g) { g.bias_view.extent[0] = 23; }, {"query", "bias", "23", "24"}},
    {"OutputInputs", [](GoodMha &g) { g.wo_view.extent[1] = 19; }, {"output_weight", "19", "20", "4", "5"}},
    {"OutputBiasAlone",
     [](GoodMha &g) { g.desc.output_weight = nullptr, g.desc.output_bias = &g.bias_view; },
     {"output_bias", "output_weight"}},
    {"ContextLengthNegative", [](GoodMha &g) { g.desc.context_length = -2; }, {"context_length", "-2"}},
    {"MaskText", [](GoodMha &g) { g.desc.mask = "casual"; }, {"mask", "casual"}},
    {"Schedule", [](GoodMha &g) { g.desc.schedule = "quick"; }, {"schedule", "quick", "flash"}},
};

const BadCall<GoodMha> run_errors[] = {
    {"NoLayer", [](GoodMha &g) { g.run_without_layer = true; }, {"mha", "NULL"}},
    {"NoArgs", [](GoodMha &g) { g.args_pointer = nullptr; }, {"args", "NULL"}},
    {"ArgsOfAnotherSize", [](GoodMha &g) { g.args.struct_size = 3; }, {"struct_size", "3"}},
    {"AttentionOfAnotherSize", [](GoodMha &g) { g.args.attention.struct_size = 3; }, {"attention.struct_size", "3"}},
    {"ThreadsNegative", [](GoodMha &g) { g.call.threads = -1; }, {"threads", "-1"}},
    {"QueryRank", [](GoodMha &g) { g.args.query.rank = 4; }, {"query.rank", "4", "3"}},
    {"QueryType", [](GoodMha &g) { g.args.query.type = ATTUNE_BF16; }, {"query.type", "bf16", "f32"}},
    {"QueryChannels", [](GoodMha &g) { g.args.query.extent[2] = 10; }, {"query", "10 channels", "query_weight", "11"}},
    {"KeyChannels", [](GoodMha &g) { g.key_view.extent[2] = 7; }, {"key", "7 channels", "key_weight", "8"}},
    {"KeyBatch", [](GoodMha &g) { g.key_view.extent[0] = 1; }, {"key", "1", "2", "query"}},
    {"KeyNull", [](GoodMha &g) { g.key_view.data = nullptr; }, {"key", "NULL"}},
    {"ValueTokens", [](GoodMha &g) { g.value_view.extent[1] = 6; }, {"value", "6 tokens", "7", "key"}},
    {"ValueAlone", [](GoodMha &g) { g.args.key = nullptr; }, {"value", "key"}},
    {"OutTokens", [](GoodMha &g) { g.args.out.extent[1] = 4; }, {"out", "4 tokens", "5"}},
    {"OutChannels", [](GoodMha &g) { g.args.out.extent[2] = 8; }, {"out", "8 channels", "9"}},
    {"OutStride", [](GoodMha &g) { g.args.out.stride[1] = 0; }, {"out.stride[1]", "0"}},
    {"OutOverKey", [](GoodMha &g) { g.key_view.data = g.args.out.data; }, {"out", "overlaps", "key"}},
    {"OutOverMask", [](GoodMha &g) { g.mask_view.data = g.args.out.data; }, {"out", "overlaps", "mask"}},
    {"WeightsOverOut", [](GoodMha &g) { g.weights_view.data = g.args.out.data; }, {"weights", "overlaps", "out"}},
    {"WeightsExtent", [](GoodMha &g) { g.weights_view.extent[3] = 6; }, {"weights.extent[3]", "6", "7"}},
    {"ResidualOverWeights", [](GoodMha &g) { g.residual_view.data = g.weights_view.data; }, {"weights overlaps residual"}},
    {"LengthsNotGivenThoughPaddingIs", [](GoodMha &g) { g.desc.mask = "prefix(2) | lengths"; }, {"lengths", "key_lengths"}},
    {"ResidualChannels", [](GoodMha &g) { g.residual_view.extent[2] = 8; }, {"residual", "8 channels", "9"}},
    {"ResidualHalfOverOut",
     [](GoodMha &g) { g.residual_view.data = static_cast<float *>(g.args.out.data) + 4; },
     {"out", "overlaps", "residual"}},
    {"ResidualWithoutOutputWeight",
     [](GoodMha &g) {
         g.desc.output_weight = nullptr, g.out = Tensor<float>({2, 5, 20}), g.args.out = g.out.view();
     },
     {"residual", "output_weight"}},
    {"NoPolarity",
     [](GoodMha &g) { g.args.polarity = static_cast<attune_mask_polarity>(0); },
     {"polarity", "0", "ATTUNE_TRUE_ATTENDS", "ATTUNE_TRUE_MASKS"}},
    {"MaskExtent", [](GoodMha &g) { g.mask_view.extent[1] = 6; }, {"mask.extent[3]", "6", "7"}},
    {"MaskRank", [](GoodMha &g) { g.mask_view.rank = 3, g.mask_view.extent[2] = 1, g.mask_view.stride[2] = 1; }, {"mask.rank", "3"}},
    {"MaskType", [](GoodMha &g) { g.mask_view.type = ATTUNE_F32; }, {"mask.type", "f32", "bool"}},
    {"MaskRankNegative", [](GoodMha &g) { g.mask_view.rank = -3; }, {"mask.rank is -3; it must be 2 to 4"}},
    {"PaddingRank", [](GoodMha &g) { g.padding_view.rank = 1; }, {"key_padding.rank is 1; it must be 2"}},
    {"PaddingNoType", [](GoodMha &g) { g.padding_view.type = static_cast<attune_type>(0); }, {"key_padding.type is 0; it must be bool"}},
    {"WeightsNoType", [](GoodMha &g) { g.weights_view.type = static_cast<attune_type>(0); }, {"weights.type is 0", "f32"}},
    {"PaddingExtent", [](GoodMha &g) { g.padding_view.extent[0] = 1; }, {"key_padding.extent[0]", "1", "2"}},
    {"MaskOverARing", [](GoodMha &g) { g.args.attention.cache = &g.ring; }, {"mask.extent[1] is 7; over a ring", "1"}},
    {"PaddingOverARing",
     [](GoodMha &g) { g.args.attention.cache = &g.ring, g.args.mask = nullptr; },
     {"key_padding is given; over a ring", "NULL"}},
    {"TwoMasks", [](GoodMha &g) { g.args.attention.boolean_mask = &g.mask_view; }, {"boolean_mask", "mask"}},
    {"PastTheContextLength", [](GoodMha &g) { g.desc.context_length = 6; }, {"key", "7 tokens", "context_length", "6"}},
    {"DropoutOfAll", [](GoodMha &g) { g.args.attention.dropout = 1; }, {"dropout", "1"}},
};

INSTANTIATE_TEST_SUITE_P(Desc, MhaError, ::testing::ValuesIn(desc_errors), bad_call_name<GoodMha>);
INSTANTIATE_TEST_SUITE_P(Run, MhaError, ::testing::ValuesIn(run_errors), bad_call_name<GoodMha>);

} // namespace
} // namespace attune::test::mha_error_test
