// One test for each bad argument of positions, scalings, sections and axes.
#include <cmath>

#include "error_test.h"

namespace attune::test::position_error_test {
namespace {

constexpr int64_t past_int32 = int64_t(1) << 31;

/** 3 tokens of 2 items, 8 channels, with positions in two streams. */
struct GoodSections {
    Tensor<float> x{{2, 1, 3, 8}}, y{{2, 1, 3, 8}, {{}, 2}};
    Tensor<int64_t> positions{{2, 2, 3}};
    int32_t sections[9] = {1, 3, 0, 0, 0, 0, 0, 0, 0};
    attune_tensor view;
    attune_rotary_args args;

    GoodSections() {
        x.fill(1), positions.fill(5), attune_rotary_args_init(&args);
        view = positions.view();
        args.x = x.view(), args.y = y.view(), args.positions = &view, args.sections = sections, args.section_count = 2;
    }
    GoodSections(const GoodSections &) = delete;
    attune_status run() { return attune_rotary(&args, nullptr); }
};

/** 3 tokens of 2 items, 8 channels, a table of 6 rows. */
struct GoodAdded {
    Tensor<float> x{{2, 1, 3, 8}}, y{{2, 1, 3, 8}, {{}, 2}}, table{{6, 8}, {{}, 1}};
    Tensor<int32_t> positions{{2, 3}};
    attune_tensor table_view, view;
    attune_add_positions_args args;

    GoodAdded() {
        x.fill(1), table.fill(1), positions.fill(5), attune_add_positions_args_init(&args);
        table_view = table.view(), view = positions.view();
        args.x = x.view(), args.y = y.view(), args.table = &table_view, args.positions = &view;
    }
    GoodAdded(const GoodAdded &) = delete;
    attune_status run() { return attune_add_positions(&args, nullptr); }
};

/** `tensor`, were it in the memory of `other`. */
template <typename T> attune_tensor over(attune_tensor tensor, const Tensor<T> &other) {
    tensor.data = other.data();
    return tensor;
}

// Tokens and heads that all are the same row: what is turned is a copy of its own for each, whose strides a kernel can't count.
TEST(PositionError, ACopyPastInt32) {
    std::vector<float> row(64);
    float *const nowhere = reinterpret_cast<float *>(uintptr_t{1} << 40), *const elsewhere = nowhere + (int64_t{1} << 40);
    const int64_t heads = 64, tokens = 1 << 19;
    const auto repeated = [&](int64_t count) {
        attune_tensor tensor = TensorView(row.data(), {2, heads, count, 64});
        tensor.stride[0] = tensor.stride[1] = tensor.stride[2] = 0;
        return tensor;
    };
    AttentionDesc desc;
    desc.head_dim = 64, desc.position = "rotary(half, width=2)";
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    const TensorView small(row.data(), {1, 1, 1, 64});
    AttentionArgs args(small, small, small, TensorView(nowhere, {2, heads, tokens, 64})); // out is never written to
    args.q = repeated(tokens), args.k = args.v = repeated(1), args.has_offset = 1;
    args.out.stride[0] = 64, args.out.stride[1] = 128, args.out.stride[2] = 64 * 128; // [tokens, heads, batch, channels]
    const TensorView sums(elsewhere, {2, heads, tokens});
    args.lse = &sums;
    const Status status = plan->run(args);
    EXPECT_EQ(status.code, ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(status.message,
              "a copy of q or k would have 2147483648 elements for each of the 2 along axis 0; at most 2147483647 are supported");
}

template <typename Good> void expect_named(const BadCall<Good> &bad) {
    Good call;
    bad.spoil(call);
    expect_error(call.run(), bad.status, bad.words);
    EXPECT_TRUE(call.y.untouched());
}

class SectionsError : public ::testing::TestWithParam<BadCall<GoodSections>> {};
class AddedError : public ::testing::TestWithParam<BadCall<GoodAdded>> {};

TEST(PositionErrorControl, TheGoodCallsRun) {
    EXPECT_EQ(GoodSections().run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(GoodAdded().run(), ATTUNE_OK) << attune_error_message();
}

TEST_P(SectionsError, IsNamedAndNothingIsWritten) { expect_named(GetParam()); }
TEST_P(AddedError, IsNamedAndNothingIsWritten) { expect_named(GetParam()); }

const BadCall<GoodSections> sections_errors[] = {
    {"PositionsType", [](GoodSections &g) { g.view.type = ATTUNE_F32; }, {"positions.type is f32; it must be i32 or i64"}},
    {"PositionsNull", [](GoodSections &g) { g.view.data = nullptr; }, {"positions.data", "NULL"}},
    {"PositionsRankZero", [](GoodSections &g) { g.view.rank = 0; }, {"positions.rank", "0", "1 to 3"}},
    {"PositionsRankFour", [](GoodSections &g) { g.view.rank = 4; }, {"positions.rank", "4", "1 to 3"}},
    {"PositionsTokens", [](GoodSections &g) { g.view.extent[2] = 2; }, {"positions.extent[2]", "2", "3", "tokens"}},
    {"PositionsBatch", [](GoodSections &g) { g.view.extent[1] = 3; }, {"positions.extent[1]", "3", "1 or 2", "batch"}},
    {"PositionsStreams", [](GoodSections &g) { g.view.extent[0] = 1; }, {"positions.extent[0]", "1", "2", "section"}},
    {"PositionPastInt32", [](GoodSections &g) { g.positions(1, 0, 2) = past_int32; }, {"positions[1, 0, 2]", "2147483648", "2147483647"}},
    {"PositionBelowInt32", [](GoodSections &g) { g.positions(0, 1, 0) = -past_int32 - 1; }, {"positions[0, 1, 0]", "-2147483649"}},
    {"YInPositions",
     [](GoodSections &g) { g.positions.fill(0), g.args.x = g.args.y = over(g.args.y, g.positions); },
     {"y overlaps positions"}},
    {"SectionsNull", [](GoodSections &g) { g.args.sections = nullptr; }, {"sections is NULL", "2"}},
    {"SectionsSum", [](GoodSections &g) { g.sections[0] = 2; }, {"sections", "5", "4", "half", "8"}},
    {"SectionNegative", [](GoodSections &g) { g.sections[0] = -1, g.sections[1] = 5; }, {"sections[0]", "-1", "0"}},
    {"SectionCountNegative", [](GoodSections &g) { g.args.section_count = -1; }, {"-1 sections", "0 to 8"}},
    {"SectionCountNine", [](GoodSections &g) { g.args.section_count = 9; }, {"9 sections", "0 to 8"}},
    {"AxesBesideSections", [](GoodSections &g) { g.args.axes = 2; }, {"axes is 2", "sections", "only one"}},
    {"AxesNegative", [](GoodSections &g) { g.args.section_count = 0, g.args.axes = -2; }, {"axes", "-2", "0 to 8"}},
    {"AxesNine", [](GoodSections &g) { g.args.section_count = 0, g.args.axes = 9; }, {"axes", "9", "0 to 8"}},
    {"AxesUneven", [](GoodSections &g) { g.args.section_count = 0, g.args.axes = 3; }, {"axes", "3", "4 pairs"}},
    {"OneStreamOfThreeAxes", [](GoodSections &g) { g.args.section_count = 0; }, {"positions.rank", "3", "1 to 2"}},
    {"ScalingUnknown", [](GoodSections &g) { g.args.scaling = "cubic(2)"; }, {"scaling", "cubic", "linear, ntk, yarn, llama3"}},
    {"ScalingFactor", [](GoodSections &g) { g.args.scaling = "linear(0.5)"; }, {"factor", "0.5", "1 or more"}},
    {"YarnOfBaseOne", [](GoodSections &g) { g.args.scaling = "yarn(4, 4096)", g.args.base = 1; }, {"base is 1", "yarn", "above 1"}},
};
const BadCall<GoodAdded> added_errors[] = {
    {"NoArgsSize", [](GoodAdded &g) { g.args.struct_size = 3; }, {"struct_size", "3"}},
    {"XType", [](GoodAdded &g) { g.args.x.type = ATTUNE_I32; }, {"x.type", "i32", "f32"}},
    {"YType", [](GoodAdded &g) { g.args.y.type = ATTUNE_BF16; }, {"y.type", "bf16", "f32"}},
    {"Device", [](GoodAdded &g) { g.args.x.device = static_cast<attune_device>(3); }, {"x.device", "3"}, ATTUNE_UNSUPPORTED},
    {"ExtentsDisagree", [](GoodAdded &g) { g.args.y.extent[0] = 1; }, {"y.extent[0]", "1", "2"}},
    {"RankOne", [](GoodAdded &g) { g.args.x.rank = g.args.y.rank = 1; }, {"rank", "1", "2"}},
    {"ScheduleUnknown", [](GoodAdded &g) { g.args.schedule = "quick"; }, {"schedule", "quick", "vectorized"}},
    {"BaseNaN", [](GoodAdded &g) { g.args.base = NAN; }, {"base", "nan"}},
    {"TableNull", [](GoodAdded &g) { g.table_view.data = nullptr; }, {"table.data", "NULL"}},
    {"TableType", [](GoodAdded &g) { g.table_view.type = ATTUNE_BOOL; }, {"table.type", "bool", "f32"}},
    {"TableRank", [](GoodAdded &g) { g.table_view.rank = 3; }, {"table.rank", "3", "2"}},
    {"TableWidth", [](GoodAdded &g) { g.table_view.extent[1] = 7; }, {"table.extent[1]", "7", "8"}},
    {"TableInnermostStride", [](GoodAdded &g) { g.table_view.stride[1] = 2; }, {"table.stride[1]", "2"}},
    {"PositionsRankThree", [](GoodAdded &g) { g.view.rank = 3; }, {"positions.rank", "3", "1 to 2"}},
    {"PositionPastTheTable", [](GoodAdded &g) { g.positions(1, 2) = 6; }, {"positions[1, 2]", "6", "0 to 5", "rows of the table"}},
    {"PositionNegative", [](GoodAdded &g) { g.positions(0, 1) = -1; }, {"positions[0, 1]", "-1", "0 to 5"}},
    {"OffsetPastTheTable", [](GoodAdded &g) { g.args.positions = nullptr, g.args.offset = 4; }, {"offset", "4", "0 to 3", "3 tokens"}},
    {"OffsetNegative", [](GoodAdded &g) { g.args.positions = nullptr, g.args.offset = -1; }, {"offset", "-1", "0 to 3"}},
    {"TableTooShort", [](GoodAdded &g) { g.args.positions = nullptr, g.table_view.extent[0] = 2; }, {"3 tokens", "at most 2"}},
    {"OffsetPastInt32",
     [](GoodAdded &g) { g.args.positions = nullptr, g.args.table = nullptr, g.args.offset = past_int32; },
     {"offset", "2147483648"}},
    {"YInTheTable", [](GoodAdded &g) { g.table_view.data = g.args.y.data; }, {"y overlaps table"}},
    {"YInPositions",
     [](GoodAdded &g) { g.positions.fill(0), g.args.x = g.args.y = over(g.args.y, g.positions); },
     {"y overlaps positions"}},
};

INSTANTIATE_TEST_SUITE_P(Arguments, SectionsError, ::testing::ValuesIn(sections_errors), bad_call_name<GoodSections>);
INSTANTIATE_TEST_SUITE_P(Arguments, AddedError, ::testing::ValuesIn(added_errors), bad_call_name<GoodAdded>);

} // namespace
} // namespace attune::test::position_error_test
