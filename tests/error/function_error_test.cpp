// One test for each bad argument of softmax, rotary and the sinusoidal table.
#include <cmath>

#include "error_test.h"
#include "kernels.h"

namespace attune::test {
namespace {

constexpr int64_t past_int32 = int64_t(1) << 31;

struct GoodSoftmax {
    Tensor<float> x{{3, 8}}, y{{3, 8}, {{}, 2}};
    attune_softmax_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_softmax_args *pointer = &args;

    GoodSoftmax() {
        x.fill(1), attune_softmax_args_init(&args);
        args.x = x.view(), args.y = y.view();
    }
    attune_status run() { return attune_softmax(pointer, &call); }
    bool outputs_untouched() const { return y.untouched(); }
};

struct GoodRotary {
    Tensor<float> x{{2, 3, 8}}, y{{2, 3, 8}, {{}, 2}};
    attune_rotary_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_rotary_args *pointer = &args;

    GoodRotary() {
        x.fill(1), attune_rotary_args_init(&args);
        args.x = x.view(), args.y = y.view();
    }
    attune_status run() { return attune_rotary(pointer, &call); }
    bool outputs_untouched() const { return y.untouched(); }
};

struct GoodSinusoidal {
    Tensor<float> y{{3, 8}, {{}, 2}};
    attune_sinusoidal_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_sinusoidal_args *pointer = &args;

    GoodSinusoidal() {
        attune_sinusoidal_args_init(&args);
        args.y = y.view();
    }
    attune_status run() { return attune_sinusoidal(pointer, &call); }
    bool outputs_untouched() const { return y.untouched(); }
};

template <typename Good> void expect_bad(const BadCall<Good> &bad) {
    Good call;
    bad.spoil(call);
    expect_error(call.run(), bad.status, bad.words);
    EXPECT_TRUE(call.outputs_untouched());
}

/** What the calls have in common. */
template <typename Good> std::vector<BadCall<Good>> common_errors() {
    return {
        {"NoArgs", [](Good &g) { g.pointer = nullptr; }, {"args", "NULL"}},
        {"ArgsOfAnotherSize", [](Good &g) { g.args.struct_size = 3; }, {"struct_size", "3"}},
        {"CallOfAnotherSize", [](Good &g) { g.call.struct_size = 3; }, {"struct_size", "3"}},
        {"ThreadsNegative", [](Good &g) { g.call.threads = -1; }, {"threads", "-1"}},
        {"ScheduleUnknown", [](Good &g) { g.args.schedule = "quick"; }, {"schedule", "quick", "reference", "vectorized"}},
        {"YNull", [](Good &g) { g.args.y.data = nullptr; }, {"y", "NULL"}},
        {"YMisaligned", [](Good &g) { g.args.y.data = static_cast<char *>(g.args.y.data) + 2; }, {"y.data"}},
        {"YType", [](Good &g) { g.args.y.type = ATTUNE_I32; }, {"y.type", "i32", "f32"}},
        {"YRankZero", [](Good &g) { g.args.y.rank = 0; }, {"y.rank", "0"}},
        {"YRankNine", [](Good &g) { g.args.y.rank = 9; }, {"y.rank", "9"}},
        {"YExtentNegative", [](Good &g) { g.args.y.extent[0] = -1; }, {"y.extent[0]", "-1"}},
        {"YExtentPastInt32", [](Good &g) { g.args.y.extent[0] = past_int32; }, {"y.extent[0]", "2147483648"}},
        {"YStrideZero", [](Good &g) { g.args.y.stride[0] = 0; }, {"y.stride[0]", "0"}},
        {"YStrideNegative", [](Good &g) { g.args.y.stride[0] = -10; }, {"y.stride[0]", "-10"}},
        {"YStridePastInt32", [](Good &g) { g.args.y.stride[0] = past_int32; }, {"y.stride[0]", "2147483648"}},
        {"YInnermostStride", [](Good &g) { g.args.y.stride[g.args.y.rank - 1] = 2; }, {"y.stride", "2", "1"}},
        {"YOverItself", [](Good &g) { g.args.y.stride[0] = 1; }, {"y"}},
        {"Device", [](Good &g) { g.args.y.device = static_cast<attune_device>(3); }, {"y.device", "3"}, ATTUNE_UNSUPPORTED},
    };
}

/** And those that read a tensor. */
template <typename Good> std::vector<BadCall<Good>> input_errors() {
    std::vector<BadCall<Good>> errors = common_errors<Good>();
    const std::vector<BadCall<Good>> more = {
        {"XNull", [](Good &g) { g.args.x.data = nullptr; }, {"x", "NULL"}},
        {"XType", [](Good &g) { g.args.x.type = ATTUNE_BOOL; }, {"x.type", "bool", "f32"}},
        {"XRank", [](Good &g) { g.args.x.rank = 9; }, {"x.rank", "9"}},
        {"XInnermostStride", [](Good &g) { g.args.x.stride[g.args.x.rank - 1] = 3; }, {"x.stride", "3", "1"}},
        {"RanksDisagree", [](Good &g) { g.args.y.rank--, g.args.y.stride[g.args.y.rank - 1] = 1; }, {"rank"}},
        {"ExtentsDisagree", [](Good &g) { g.args.y.extent[0] = 1; }, {"y.extent[0]", "1", std::to_string(Good().x.extent[0])}},
        {"YOverPartOfX", [](Good &g) { g.args.y.data = static_cast<float *>(g.args.x.data) + 4; }, {"y", "x", "overlap"}},
    };
    errors.insert(errors.end(), more.begin(), more.end());
    return errors;
}

class SoftmaxError : public ::testing::TestWithParam<BadCall<GoodSoftmax>> {};
class RotaryError : public ::testing::TestWithParam<BadCall<GoodRotary>> {};
class SinusoidalError : public ::testing::TestWithParam<BadCall<GoodSinusoidal>> {};

TEST(FunctionErrorControl, TheGoodCallsRun) {
    EXPECT_EQ(GoodSoftmax().run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(GoodRotary().run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(GoodSinusoidal().run(), ATTUNE_OK) << attune_error_message();
}

TEST_P(SoftmaxError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }
TEST_P(RotaryError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }
TEST_P(SinusoidalError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }

const BadCall<GoodSoftmax> softmax_errors[] = {
    {"TemperatureZero", [](GoodSoftmax &g) { g.args.temperature = 0; }, {"temperature", "0"}},
    {"TemperatureNegative", [](GoodSoftmax &g) { g.args.temperature = -2; }, {"temperature", "-2", "0"}},
    {"TemperatureNaN", [](GoodSoftmax &g) { g.args.temperature = NAN; }, {"temperature", "nan", "0"}},
};
const BadCall<GoodRotary> rotary_errors[] = {
    {"BaseZero", [](GoodRotary &g) { g.args.base = 0; }, {"base", "0"}},
    {"BaseNegative", [](GoodRotary &g) { g.args.base = -1; }, {"base", "-1", "0"}},
    {"BaseNaN", [](GoodRotary &g) { g.args.base = NAN; }, {"base", "nan"}},
    {"BaseInfinite", [](GoodRotary &g) { g.args.base = INFINITY; }, {"base", "inf"}},
    {"RotaryDimOdd", [](GoodRotary &g) { g.args.rotary_dim = 5; }, {"rotary_dim", "5", "even"}},
    {"RotaryDimNegative", [](GoodRotary &g) { g.args.rotary_dim = -2; }, {"rotary_dim", "-2"}},
    {"RotaryDimPastDim", [](GoodRotary &g) { g.args.rotary_dim = 10; }, {"rotary_dim", "10", "8"}},
    {"OddDimOfWhichAllTurns", [](GoodRotary &g) { g.args.x.extent[2] = g.args.y.extent[2] = 7; }, {"7", "even"}},
    {"LayoutUnknown", [](GoodRotary &g) { g.args.layout = static_cast<attune_rotary_layout>(4); }, {"layout", "4"}},
    {"OffsetPastInt32", [](GoodRotary &g) { g.args.offset = past_int32; }, {"offset", "2147483648"}},
    {"OffsetBelowInt32", [](GoodRotary &g) { g.args.offset = -past_int32 - 1; }, {"offset", "-2147483649"}},
    {"RankOne", [](GoodRotary &g) { g.args.x.rank = g.args.y.rank = 1; }, {"rank", "1", "2"}},
};
const BadCall<GoodSinusoidal> sinusoidal_errors[] = {
    {"BaseZero", [](GoodSinusoidal &g) { g.args.base = 0; }, {"base", "0"}},
    {"BaseNegative", [](GoodSinusoidal &g) { g.args.base = -3; }, {"base", "-3", "0"}},
    {"BaseNaN", [](GoodSinusoidal &g) { g.args.base = NAN; }, {"base", "nan"}},
    {"RankThree", [](GoodSinusoidal &g) { g.args.y.rank = 3; }, {"y.rank", "3", "2"}},
    {"OffsetPastInt32", [](GoodSinusoidal &g) { g.args.offset = past_int32; }, {"offset", "2147483648"}},
};

INSTANTIATE_TEST_SUITE_P(Tensors, SoftmaxError, ::testing::ValuesIn(input_errors<GoodSoftmax>()), bad_call_name<GoodSoftmax>);
INSTANTIATE_TEST_SUITE_P(Numbers, SoftmaxError, ::testing::ValuesIn(softmax_errors), bad_call_name<GoodSoftmax>);
INSTANTIATE_TEST_SUITE_P(Tensors, RotaryError, ::testing::ValuesIn(input_errors<GoodRotary>()), bad_call_name<GoodRotary>);
INSTANTIATE_TEST_SUITE_P(Numbers, RotaryError, ::testing::ValuesIn(rotary_errors), bad_call_name<GoodRotary>);
INSTANTIATE_TEST_SUITE_P(Tensors, SinusoidalError, ::testing::ValuesIn(common_errors<GoodSinusoidal>()), bad_call_name<GoodSinusoidal>);
INSTANTIATE_TEST_SUITE_P(Numbers, SinusoidalError, ::testing::ValuesIn(sinusoidal_errors), bad_call_name<GoodSinusoidal>);

} // namespace
} // namespace attune::test
