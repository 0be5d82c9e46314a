// One test for each bad argument of the norms and of the embedding.
#include "function_errors.h"

namespace attune::test::norm_error_test {
namespace {

struct GoodNorm {
    Tensor<float> x{{2, 3, 4}}, y{{2, 3, 4}, {{}, 2}}, weight{{4}}, bias{{4}}, residual{{2, 3, 4}}, sum{{2, 3, 4}};
    attune_tensor weight_view = weight.view(), bias_view = bias.view(), residual_view = residual.view(), sum_view = sum.view();
    attune_norm_args args;
    attune_norm_args *pointer = &args;
    attune_call call = ATTUNE_CALL_INIT;
    bool of_squares = false; // RMS norm

    GoodNorm() {
        for (const Tensor<float> *tensor : {&x, &weight, &bias, &residual})
            tensor->fill(1);
        attune_norm_args_init(&args);
        args.x = x.view(), args.y = y.view(), args.weight = &weight_view, args.bias = &bias_view;
        args.residual = &residual_view, args.sum = &sum_view;
    }
    GoodNorm(const GoodNorm &) = delete;

    attune_status run() { return of_squares ? attune_rms_norm(pointer, &call) : attune_layer_norm(pointer, &call); }
    bool outputs_untouched() const { return y.untouched() && sum.untouched(); }
};

class NormError : public ::testing::TestWithParam<BadCall<GoodNorm>> {};

TEST(NormErrorControl, TheGoodCallRuns) {
    EXPECT_EQ(GoodNorm().run(), ATTUNE_OK) << attune_error_message();
    GoodNorm rms;
    rms.of_squares = true, rms.args.bias = nullptr;
    EXPECT_EQ(rms.run(), ATTUNE_OK) << attune_error_message();
}

TEST_P(NormError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }

const BadCall<GoodNorm> norm_errors[] = {
    {"NoArgs", [](GoodNorm &g) { g.pointer = nullptr; }, {"args", "NULL"}},
    {"ArgsOfAnotherSize", [](GoodNorm &g) { g.args.struct_size = 3; }, {"args.struct_size", "3"}},
    {"ThreadsNegative", [](GoodNorm &g) { g.call.threads = -1; }, {"threads", "-1"}},
    {"ScheduleUnknown", [](GoodNorm &g) { g.args.schedule = "quick"; }, {"quick", "vectorized"}},
    {"XType", [](GoodNorm &g) { g.args.x.type = ATTUNE_F16; }, {"x.type is f16; it must be f32 or bf16"}},
    {"XInnermostStride", [](GoodNorm &g) { g.args.x.stride[2] = 2; }, {"x.stride[2]", "2", "1"}},
    {"YType", [](GoodNorm &g) { g.args.y.type = ATTUNE_BF16; }, {"y.type", "bf16", "f32"}},
    {"YOfOtherChannels", [](GoodNorm &g) { g.args.y.extent[2] = 3; }, {"y.extent[2]", "3", "4"}},
    {"YOverPartOfX", [](GoodNorm &g) { g.args.y.data = static_cast<float *>(g.args.x.data) + 4; }, {"y overlaps x"}},
    {"WeightOfOtherChannels", [](GoodNorm &g) { g.weight_view.extent[0] = 3; }, {"weight", "3", "4"}},
    {"WeightType", [](GoodNorm &g) { g.weight_view.type = ATTUNE_I32; }, {"weight.type", "i32"}},
    {"BiasOfRmsNorm", [](GoodNorm &g) { g.of_squares = true; }, {"bias is given", "RMS norm"}},
    {"EpsilonNegative", [](GoodNorm &g) { g.args.epsilon = -1e-5f; }, {"epsilon is -1e-05", "0"}},
    {"ResidualAlone", [](GoodNorm &g) { g.args.sum = nullptr; }, {"sum is NULL", "residual"}},
    {"SumAlone", [](GoodNorm &g) { g.args.residual = nullptr; }, {"residual is NULL", "sum"}},
    {"ResidualOfOtherRows", [](GoodNorm &g) { g.residual_view.extent[1] = 2; }, {"residual.extent[1]", "2", "3"}},
    {"SumOverWeight", [](GoodNorm &g) { g.weight_view.data = g.sum_view.data; }, {"sum overlaps weight"}},
    {"YOverSum", [](GoodNorm &g) { g.sum_view = g.args.y; }, {"y overlaps sum"}},
};

INSTANTIATE_TEST_SUITE_P(Arguments, NormError, ::testing::ValuesIn(norm_errors), bad_call_name<GoodNorm>);

struct GoodEmbedding {
    Tensor<float> table{{5, 4}}, positions{{6, 4}}, y{{2, 3, 4}, {{}, 2}};
    int32_t numbers[6] = {0, 4, 1, 2, 3, 0};
    attune_tensor positions_view = positions.view();
    attune_embedding_args args;
    attune_embedding_args *pointer = &args;

    GoodEmbedding() {
        table.fill(1), positions.fill(1);
        const int64_t extents[] = {2, 3};
        attune_embedding_args_init(&args);
        args.ids = attune_contiguous(numbers, ATTUNE_I32, 2, extents);
        args.table = table.view(), args.y = y.view(), args.positions = &positions_view, args.offset = 3;
    }
    GoodEmbedding(const GoodEmbedding &) = delete;

    attune_status run() { return attune_embedding(pointer); }
    bool outputs_untouched() const { return y.untouched(); }
};

class EmbeddingError : public ::testing::TestWithParam<BadCall<GoodEmbedding>> {};

TEST(EmbeddingErrorControl, TheGoodCallRuns) { EXPECT_EQ(GoodEmbedding().run(), ATTUNE_OK) << attune_error_message(); }

TEST_P(EmbeddingError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }

const BadCall<GoodEmbedding> embedding_errors[] = {
    {"NoArgs", [](GoodEmbedding &g) { g.pointer = nullptr; }, {"args", "NULL"}},
    {"ArgsOfAnotherSize", [](GoodEmbedding &g) { g.args.struct_size = 3; }, {"args.struct_size", "3"}},
    {"IdsType", [](GoodEmbedding &g) { g.args.ids.type = ATTUNE_F32; }, {"ids.type is f32; it must be i32 or i64"}},
    {"IdNegative", [](GoodEmbedding &g) { g.numbers[5] = -1; }, {"-1", "0 to 4"}},
    {"IdPastTheTable", [](GoodEmbedding &g) { g.numbers[2] = 5; }, {"5", "0 to 4"}},
    {"YType", [](GoodEmbedding &g) { g.args.y.type = ATTUNE_F16; }, {"y.type", "f16"}},
    {"YOfOtherTokens", [](GoodEmbedding &g) { g.args.y.extent[1] = 2; }, {"y.extent[1]", "2", "3"}},
    {"TableOfOtherChannels", [](GoodEmbedding &g) { g.args.table.extent[1] = 3; }, {"table.extent[1]", "3", "4"}},
    {"PositionsFewerThanTokens", [](GoodEmbedding &g) { g.positions_view.extent[0] = 1; }, {"positions has 1 rows", "or more", "ids"}},
    {"PositionsOfAnotherType", [](GoodEmbedding &g) { g.positions_view.type = ATTUNE_BF16; }, {"positions.type", "bf16"}},
    {"OffsetPastPositions", [](GoodEmbedding &g) { g.args.offset = 4; }, {"offset", "4", "3"}},
    {"OffsetNegative", [](GoodEmbedding &g) { g.args.offset = -1; }, {"offset", "-1"}},
    {"YOverTable", [](GoodEmbedding &g) { g.args.table.data = g.args.y.data; }, {"y overlaps table"}},
};

INSTANTIATE_TEST_SUITE_P(Arguments, EmbeddingError, ::testing::ValuesIn(embedding_errors), bad_call_name<GoodEmbedding>);

} // namespace
} // namespace attune::test::norm_error_test
