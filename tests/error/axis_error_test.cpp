// One test for each bad argument of softmax, log-sum-exp, merge and the ALiBi slopes.
#include <cmath>

#include "function_errors.h"

namespace attune::test::axis_error_test {
namespace {

struct GoodSoftmax {
    Tensor<float> x{{3, 8}}, y{{3, 8}, {{}, 2}};
    Tensor<uint8_t> mask{{3, 1}};
    attune_tensor mask_view = mask.view();
    attune_softmax_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_softmax_args *pointer = &args;

    GoodSoftmax() {
        x.fill(1), mask.fill(1), attune_softmax_args_init(&args);
        args.x = x.view(), args.y = y.view(), args.mask = &mask_view;
    }
    GoodSoftmax(const GoodSoftmax &) = delete; // args points into it
    attune_status run() { return attune_softmax(pointer, &call); }
    bool outputs_untouched() const { return y.untouched(); }
};

struct GoodLogSumExp {
    Tensor<float> x{{5, 8, 2}}, y{{5, 1, 2}, {{}, 2}};
    Tensor<uint8_t> mask{{1, 8, 1}};
    attune_tensor mask_view = mask.view();
    attune_log_sum_exp_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_log_sum_exp_args *pointer = &args;

    GoodLogSumExp() {
        x.fill(1), mask.fill(1), attune_log_sum_exp_args_init(&args);
        args.axis = 1, args.x = x.view(), args.y = y.view(), args.mask = &mask_view;
    }
    GoodLogSumExp(const GoodLogSumExp &) = delete;
    attune_status run() { return attune_log_sum_exp(pointer, &call); }
    bool outputs_untouched() const { return y.untouched(); }
};

struct GoodMerge {
    Tensor<float> a{{2, 3, 4, 6}}, a_lse{{2, 3, 4}}, b{{2, 3, 4, 6}}, b_lse{{2, 3, 4}}, out{{2, 3, 4, 6}, {{}, 2}}, lse{{2, 3, 4}};
    attune_merge_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_merge_args *pointer = &args;

    GoodMerge() {
        a.fill(1), a_lse.fill(1), b.fill(2), b_lse.fill(2), attune_merge_args_init(&args);
        args.a = a.view(), args.a_lse = a_lse.view(), args.b = b.view(), args.b_lse = b_lse.view();
        args.out = out.view(), args.lse = lse.view();
    }
    attune_status run() { return attune_merge(pointer, &call); }
    bool outputs_untouched() const { return out.untouched() && lse.untouched(); }
};

struct GoodSlopes {
    Tensor<float> y{{12}};
    attune_alibi_slopes_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_alibi_slopes_args *pointer = &args;

    GoodSlopes() { attune_alibi_slopes_args_init(&args), args.y = y.view(); }
    attune_status run() { return attune_alibi_slopes(pointer, &call); }
    bool outputs_untouched() const { return y.untouched(); }
};

class SoftmaxError : public ::testing::TestWithParam<BadCall<GoodSoftmax>> {};
class LogSumExpError : public ::testing::TestWithParam<BadCall<GoodLogSumExp>> {};
class MergeError : public ::testing::TestWithParam<BadCall<GoodMerge>> {};
class SlopesError : public ::testing::TestWithParam<BadCall<GoodSlopes>> {};

TEST(AxisErrorControl, TheGoodCallsRun) {
    EXPECT_EQ(GoodSoftmax().run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(GoodLogSumExp().run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(GoodMerge().run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(GoodSlopes().run(), ATTUNE_OK) << attune_error_message();
}

TEST_P(SoftmaxError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }
TEST_P(LogSumExpError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }
TEST_P(MergeError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }
TEST_P(SlopesError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }

/** What goes wrong with an axis, a mask and a temperature. */
template <typename Good> std::vector<BadCall<Good>> axis_errors() {
    return {
        {"TemperatureZero", [](Good &g) { g.args.temperature = 0; }, {"temperature", "0"}},
        {"TemperatureNegative", [](Good &g) { g.args.temperature = -2; }, {"temperature", "-2", "0"}},
        {"TemperatureNaN", [](Good &g) { g.args.temperature = NAN; }, {"temperature", "nan", "0"}},
        {"AxisPastTheLast", [](Good &g) { g.args.axis = 5; }, {"axis is 5", "it must be -", "rank"}},
        {"AxisBeforeTheFirst", [](Good &g) { g.args.axis = -6; }, {"axis is -6", "it must be -", "rank"}},
        {"MaskType", [](Good &g) { g.mask_view.type = ATTUNE_F32; }, {"mask.type", "f32", "bool"}},
        {"MaskRank", [](Good &g) { g.mask_view.rank = 1; }, {"mask.rank is 1", "it must be"}},
        {"MaskNull", [](Good &g) { g.mask_view.data = nullptr; }, {"mask", "NULL"}},
        {"MaskShape", [](Good &g) { g.mask_view.extent[1] = 7; }, {"mask.extent[1]", "7", "1 or 8", "x"}},
        {"YOverTheMask", [](Good &g) { g.mask_view.data = g.args.y.data; }, {"y overlaps mask"}},
    };
}

const BadCall<GoodLogSumExp> log_sum_exp_errors[] = {
    {"XNull", [](GoodLogSumExp &g) { g.args.x.data = nullptr; }, {"x", "NULL"}},
    {"XType", [](GoodLogSumExp &g) { g.args.x.type = ATTUNE_BOOL; }, {"x.type", "bool", "f32"}},
    {"XRankZero", [](GoodLogSumExp &g) { g.args.x.rank = 0; }, {"x.rank", "0"}},
    {"YKeepsTheAxis",
     [](GoodLogSumExp &g) { g.args.y.extent[1] = 8, g.args.y.stride[1] = 2, g.args.y.stride[0] = 16; },
     {"y.extent[1]", "8", "must be 1"}},
    {"ExtentsDisagree", [](GoodLogSumExp &g) { g.args.y.extent[0] = 4; }, {"y.extent[0]", "4", "5", "x"}},
    {"YOverX", [](GoodLogSumExp &g) { g.args.y.data = g.args.x.data; }, {"y overlaps x"}},
};

const BadCall<GoodMerge> merge_errors[] = {
    {"NoArgs", [](GoodMerge &g) { g.pointer = nullptr; }, {"args", "NULL"}},
    {"ArgsOfAnotherSize", [](GoodMerge &g) { g.args.struct_size = 3; }, {"struct_size", "3"}},
    {"ScheduleUnknown", [](GoodMerge &g) { g.args.schedule = "quick"; }, {"schedule", "quick", "reference", "vectorized"}},
    {"ANull", [](GoodMerge &g) { g.args.a.data = nullptr; }, {"a.data", "NULL"}},
    {"ARank", [](GoodMerge &g) { g.args.a.rank = 3; }, {"a.rank", "3", "4"}},
    {"ALseRank", [](GoodMerge &g) { g.args.a_lse.rank = 4; }, {"a_lse.rank", "4", "3"}},
    {"BType", [](GoodMerge &g) { g.args.b.type = ATTUNE_BF16; }, {"b.type", "bf16", "f32"}},
    {"BLseInnermostStride", [](GoodMerge &g) { g.args.b_lse.stride[2] = 2; }, {"b_lse.stride[2]", "2", "1"}},
    {"NoWidth", [](GoodMerge &g) { g.args.a.extent[3] = 0; }, {"a.extent[3]", "0", "at least 1"}},
    {"BWidth", [](GoodMerge &g) { g.args.b.extent[3] = 5; }, {"b.extent[3]", "5", "6", "width of a"}},
    {"ALseTokens", [](GoodMerge &g) { g.args.a_lse.extent[2] = 3; }, {"a_lse.extent[2]", "3", "4", "tokens of a"}},
    {"OutHeads", [](GoodMerge &g) { g.args.out.extent[1] = 2; }, {"out.extent[1]", "2", "3", "heads of a"}},
    {"LseBatch", [](GoodMerge &g) { g.args.lse.extent[0] = 1; }, {"lse.extent[0]", "1", "2", "batch of a"}},
    {"LseStrideZero", [](GoodMerge &g) { g.args.lse.stride[0] = 0; }, {"lse.stride[0]", "0"}},
    {"OutOverPartOfA", [](GoodMerge &g) { g.args.out.data = static_cast<float *>(g.args.a.data) + 1; }, {"out overlaps a "}},
    {"OutOverB", [](GoodMerge &g) { g.args.out.data = g.args.b.data; }, {"out overlaps b "}},
    {"OutOverALse", [](GoodMerge &g) { g.args.out.data = g.args.a_lse.data; }, {"out overlaps a_lse"}},
    {"LseOverPartOfBLse", [](GoodMerge &g) { g.args.lse.data = static_cast<float *>(g.args.b_lse.data) + 1; }, {"lse overlaps b_lse"}},
    {"LseOverA", [](GoodMerge &g) { g.args.lse.data = g.args.a.data; }, {"lse overlaps a "}},
    {"OutOverLse", [](GoodMerge &g) { g.args.lse.data = g.args.out.data; }, {"out overlaps lse"}},
};

const BadCall<GoodSlopes> slopes_errors[] = {
    {"NoArgs", [](GoodSlopes &g) { g.pointer = nullptr; }, {"args", "NULL"}},
    {"ScheduleUnknown", [](GoodSlopes &g) { g.args.schedule = "quick"; }, {"schedule", "quick", "reference", "vectorized"}},
    {"YNull", [](GoodSlopes &g) { g.args.y.data = nullptr; }, {"y.data", "NULL"}},
    {"YType", [](GoodSlopes &g) { g.args.y.type = ATTUNE_I32; }, {"y.type", "i32", "f32"}},
    {"YRank", [](GoodSlopes &g) { g.args.y.rank = 2; }, {"y.rank", "2", "1"}},
    {"YStride", [](GoodSlopes &g) { g.args.y.stride[0] = 2; }, {"y.stride[0]", "2", "1"}},
};

INSTANTIATE_TEST_SUITE_P(Tensors, SoftmaxError, ::testing::ValuesIn(input_errors<GoodSoftmax>()), bad_call_name<GoodSoftmax>);
INSTANTIATE_TEST_SUITE_P(Axis, SoftmaxError, ::testing::ValuesIn(axis_errors<GoodSoftmax>()), bad_call_name<GoodSoftmax>);
INSTANTIATE_TEST_SUITE_P(Tensors, LogSumExpError, ::testing::ValuesIn(common_errors<GoodLogSumExp>()), bad_call_name<GoodLogSumExp>);
INSTANTIATE_TEST_SUITE_P(Axis, LogSumExpError, ::testing::ValuesIn(axis_errors<GoodLogSumExp>()), bad_call_name<GoodLogSumExp>);
INSTANTIATE_TEST_SUITE_P(Sum, LogSumExpError, ::testing::ValuesIn(log_sum_exp_errors), bad_call_name<GoodLogSumExp>);
INSTANTIATE_TEST_SUITE_P(All, MergeError, ::testing::ValuesIn(merge_errors), bad_call_name<GoodMerge>);
INSTANTIATE_TEST_SUITE_P(All, SlopesError, ::testing::ValuesIn(slopes_errors), bad_call_name<GoodSlopes>);

} // namespace
} // namespace attune::test::axis_error_test
