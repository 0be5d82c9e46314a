// One test for each bad argument of rotary embedding by the caller's own cosines and sines.
#include "error_test.h"

namespace attune::test::rotary_rows_error_test {
namespace {

/** 3 tokens at positions of 0 to 5, 6 of 8 channels rotated. */
struct GoodRows {
    Tensor<float> x{{2, 3, 8}}, y{{2, 3, 8}, {{}, 2}}, cosines{{6, 3}, {{}, 1}}, sines{{6, 3}};
    Tensor<int32_t> positions{{3}};
    attune_tensor cosines_view, sines_view, positions_view;
    attune_rotary_args args;

    GoodRows() {
        x.fill(1), cosines.fill(1), sines.fill(0), positions.fill(5);
        cosines_view = cosines.view(), sines_view = sines.view(), positions_view = positions.view();
        attune_rotary_args_init(&args);
        args.x = x.view(), args.y = y.view(), args.rotary_dim = 6;
        args.cosines = &cosines_view, args.sines = &sines_view, args.positions = &positions_view;
    }
    GoodRows(const GoodRows &) = delete;
    attune_status run() { return attune_rotary(&args, nullptr); }
};

using Good = GoodRows;
class RotaryRowsError : public ::testing::TestWithParam<BadCall<Good>> {};

TEST(RotaryRowsErrorControl, TheGoodCallRuns) {
    Good good;
    EXPECT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
}

TEST_P(RotaryRowsError, IsNamedAndNothingIsWritten) {
    Good call;
    GetParam().spoil(call);
    expect_error(call.run(), GetParam().status, GetParam().words);
    EXPECT_TRUE(call.y.untouched());
}

const int32_t sections[] = {3};

const BadCall<Good> errors[] = {
    {"CosinesAlone", [](Good &g) { g.args.sines = nullptr; }, {"sines is NULL", "cosines"}},
    {"SinesAlone", [](Good &g) { g.args.cosines = nullptr; }, {"cosines is NULL", "sines"}},
    {"CosinesNull", [](Good &g) { g.cosines_view.data = nullptr; }, {"cosines.data", "NULL"}},
    {"CosinesType", [](Good &g) { g.cosines_view.type = ATTUNE_I32; }, {"cosines.type", "i32", "f32"}},
    {"CosinesRank", [](Good &g) { g.cosines_view.rank = 3; }, {"cosines.rank", "3", "2"}},
    {"CosinesWidth", [](Good &g) { g.cosines_view.extent[1] = 2; }, {"cosines.extent[1]", "2", "3", "half"}},
    {"CosinesInnermostStride", [](Good &g) { g.cosines_view.stride[1] = 2; }, {"cosines.stride[1]", "2", "1"}},
    {"SinesType", [](Good &g) { g.sines_view.type = ATTUNE_BOOL; }, {"sines.type", "bool", "f32"}},
    {"SinesWidth", [](Good &g) { g.sines_view.extent[1] = 4; }, {"sines.extent[1]", "4", "3"}},
    {"SinesRows", [](Good &g) { g.sines_view.extent[0] = 5; }, {"sines.extent[0]", "5", "6"}},
    {"PositionsRankPastAllAxes", [](Good &g) { g.positions_view.rank = 1000000; }, {"positions.rank is 1000000; it must be 1 to 2"}},
    {"PositionPastTheRows", [](Good &g) { g.positions(1) = 6; }, {"positions[1]", "6", "0 to 5", "rows"}},
    {"PositionNegative", [](Good &g) { g.positions(2) = -1; }, {"positions[2]", "-1", "0 to 5"}},
    {"OffsetPastTheRows", [](Good &g) { g.args.positions = nullptr, g.args.offset = 4; }, {"offset", "4", "0 to 3"}},
    {"Scaling", [](Good &g) { g.args.scaling = "linear(2)"; }, {"cosines and sines", "scaling"}},
    {"Sections", [](Good &g) { g.args.sections = sections, g.args.section_count = 1; }, {"cosines and sines", "sections"}},
    {"Axes", [](Good &g) { g.args.axes = 3; }, {"cosines and sines", "axes"}},
    {"YInTheCosines", [](Good &g) { g.cosines_view.data = g.args.y.data; }, {"y", "cosines", "overlap"}},
    {"YInTheSines", [](Good &g) { g.sines_view.data = g.args.y.data; }, {"y", "sines", "overlap"}},
};
INSTANTIATE_TEST_SUITE_P(Arguments, RotaryRowsError, ::testing::ValuesIn(errors), bad_call_name<Good>);

} // namespace
} // namespace attune::test::rotary_rows_error_test
