// One test for each bad argument of rotary and the sinusoidal table.
#include <cmath>

#include "function_errors.h"

namespace attune::test::function_error_test {
namespace {

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

class RotaryError : public ::testing::TestWithParam<BadCall<GoodRotary>> {};
class SinusoidalError : public ::testing::TestWithParam<BadCall<GoodSinusoidal>> {};

TEST(FunctionErrorControl, TheGoodCallsRun) {
    EXPECT_EQ(GoodRotary().run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(GoodSinusoidal().run(), ATTUNE_OK) << attune_error_message();
}

TEST_P(RotaryError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }
TEST_P(SinusoidalError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }

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

INSTANTIATE_TEST_SUITE_P(Tensors, RotaryError, ::testing::ValuesIn(contiguous_input_errors<GoodRotary>()), bad_call_name<GoodRotary>);
INSTANTIATE_TEST_SUITE_P(Numbers, RotaryError, ::testing::ValuesIn(rotary_errors), bad_call_name<GoodRotary>);
INSTANTIATE_TEST_SUITE_P(Tensors, SinusoidalError, ::testing::ValuesIn(contiguous_errors<GoodSinusoidal>()), bad_call_name<GoodSinusoidal>);
INSTANTIATE_TEST_SUITE_P(Numbers, SinusoidalError, ::testing::ValuesIn(sinusoidal_errors), bad_call_name<GoodSinusoidal>);

} // namespace
} // namespace attune::test::function_error_test
