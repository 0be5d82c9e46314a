// The position language: what it is read into, and what it refuses.
#include <gtest/gtest.h>

#include "refused.h"
#include "text/position.h"

namespace attune::text::position_test {
namespace {

Position read(std::string_view text) {
    const PositionResult result = parse_position(text);
    EXPECT_TRUE(result.ok()) << result.error;
    return result.position;
}

RotaryScaling read_scaling(std::string_view text) {
    const PositionResult result = parse_scaling(text);
    EXPECT_TRUE(result.ok()) << result.error;
    return result.position.scaling;
}

TEST(Position, ReadsKinds) {
    EXPECT_EQ(read("none").kind, PositionKind::none);
    EXPECT_EQ(read("learned").kind, PositionKind::learned);
    EXPECT_EQ(read("sinusoidal").kind, PositionKind::sinusoidal);
    EXPECT_EQ(read("sinusoidal").base, 10000);
    EXPECT_EQ(read("sinusoidal(base=1e3)").base, 1000);
    const Position rotary = read("rotary(half)");
    EXPECT_EQ(rotary.kind, PositionKind::rotary);
    EXPECT_EQ(rotary.layout, RotaryLayout::half);
    EXPECT_EQ(rotary.base, 10000);
    EXPECT_EQ(rotary.width, 0);
    EXPECT_EQ(rotary.scaling.kind, ScalingKind::none);
    EXPECT_EQ(rotary.alignment, Alignment::unnamed);
    EXPECT_EQ(rotary.streams(), 1);
}

TEST(Position, ReadsOptionsInAnyOrder) {
    const Position position = read("rotary(interleaved, bottom_right, scaling=linear(2.5), width=64, base=500000.0)");
    EXPECT_EQ(position.layout, RotaryLayout::interleaved);
    EXPECT_EQ(position.alignment, Alignment::bottom_right);
    EXPECT_EQ(position.scaling.kind, ScalingKind::linear);
    EXPECT_EQ(position.scaling.factor, 2.5);
    EXPECT_EQ(position.width, 64);
    EXPECT_EQ(position.base, 500000);
}

TEST(Position, ReadsSectionsAndAxes) {
    EXPECT_EQ(read("rotary(half, sections=mrope(0, 4), width=8)").sections, (std::vector<int32_t>{0, 4}));
    const Position sections = read("rotary(half, sections=mrope(16, 24, 24), width=128)");
    EXPECT_EQ(sections.sections, (std::vector<int32_t>{16, 24, 24}));
    EXPECT_EQ(sections.streams(), 3);
    const Position axes = read("rotary(half, axes=2, width=64)");
    EXPECT_EQ(axes.axes, 2);
    EXPECT_EQ(axes.streams(), 2);
}

TEST(Position, ReadsScalings) {
    EXPECT_EQ(read_scaling("ntk(1)").kind, ScalingKind::ntk);
    const RotaryScaling yarn = read_scaling("yarn(40, 4096)");
    EXPECT_EQ(yarn.kind, ScalingKind::yarn);
    EXPECT_EQ(yarn.factor, 40);
    EXPECT_EQ(yarn.original, 4096);
    EXPECT_EQ(yarn.beta_fast, 32);
    EXPECT_EQ(yarn.beta_slow, 1);
    const RotaryScaling tuned = read_scaling("yarn(4, 8192, 24, 1.5)");
    EXPECT_EQ(tuned.beta_fast, 24);
    EXPECT_EQ(tuned.beta_slow, 1.5);
    const RotaryScaling llama3 = read_scaling("llama3(8, 1, 4, 8192)");
    EXPECT_EQ(llama3.kind, ScalingKind::llama3);
    EXPECT_EQ(llama3.factor, 8);
    EXPECT_EQ(llama3.low, 1);
    EXPECT_EQ(llama3.high, 4);
    EXPECT_EQ(llama3.original, 8192);
}

class PositionErrors : public testing::TestWithParam<Refused> {};

TEST_P(PositionErrors, NameTheColumnAndTheRemedy) { expect_refused(parse_position(GetParam().text), GetParam()); }

constexpr Refused positions[] = {
    {"", 1, "the position is empty; write none for no position"},
    {"rotory(half)", 1, "'rotory' isn't a position; the positions are none, rotary, sinusoidal, learned"},
    {"none learned", 6, "none stands alone"},
    {"learned learned", 9, "'learned' follows a whole position; only one may stand"},
    {"learned(3)", 8, "learned takes nothing in brackets"},
    {"sinusoidal()", 12, "')' isn't an option of sinusoidal; the options are base="},
    {"sinusoidal(width=2)", 12, "'width' isn't an option of sinusoidal"},
    {"sinusoidal(base=0)", 17, "base is '0'; it must be a number above 0"},
    {"sinusoidal(base=2, base=3)", 18, "')' is missing in sinusoidal"},
    {"rotary", 7, "'(' is missing after rotary; write rotary(half|interleaved, ...)"},
    {"rotary()", 8, "')' isn't a layout; the layouts are half, interleaved"},
    {"rotary(base=3)", 8, "'base' isn't a layout; the layouts are half, interleaved"},
    {"rotary(half base=3)", 13, "')' is missing in rotary"},
    {"rotary(half,)", 13,
     "')' isn't an option of rotary; the options are base=, width=, scaling=, sections=, axes=, top_left, bottom_right"},
    {"rotary(half, bas=3)", 14, "'bas' isn't an option of rotary"},
    {"rotary(half, base 3)", 19, "'=' is missing after base, before '3'"},
    {"rotary(half, base=-1)", 19, "base is '-1'; it must be a number above 0"},
    {"rotary(half, base=b)", 19, "base is 'b'; it must be a number above 0"},
    {"rotary(half, base=1, base=2)", 22, "'base' stands twice"},
    {"rotary(half, top_left, bottom_right)", 24, "'bottom_right' stands beside another alignment"},
    {"rotary(half, width=63)", 20, "width is '63'; it must be even"},
    {"rotary(half, width=0)", 20, "width is '0'; it must be 2 or more"},
    {"rotary(half, width=64.0)", 20, "width is '64.0'; it must be an integer"},
    {"rotary(half, axes=1)", 19, "axes is '1'; it must be 2 or more"},
    {"rotary(half, axes=9)", 19, "axes is 9; it must be at most 8"},
    {"rotary(half, width=64, axes=3)", 24, "axes is 3; it must divide the 32 pairs of width 64"},
    {"rotary(half, sections=rope(1))", 23, "'rope' isn't a kind of sections; the kinds are mrope"},
    {"rotary(half, sections=mrope())", 29, "mrope's section is ')'; it must be an integer"},
    {"rotary(half, sections=mrope(1, -1))", 32, "mrope's section is '-1'; it must be 0 or more"},
    {"rotary(half, sections=mrope(1, 1, 1, 1, 1, 1, 1, 1, 1))", 53, "mrope has more than 8 sections"},
    {"rotary(half, width=8, sections=mrope(1, 2))", 23, "mrope's sections add up to 3; they must to 4, the pairs of width 8"},
    {"rotary(half, axes=2, sections=mrope(1, 2))", 22, "sections and axes exclude each other"},
    {"rotary(half, sections=mrope(1, 2), axes=2)", 36, "sections and axes exclude each other"},
    {"rotary(half, scaling=none)", 22, "'none' isn't a scaling; the scalings are linear, ntk, yarn, llama3"},
    {"rotary(half, scaling=linear(0.5))", 29, "linear's factor is '0.5'; it must be a number of 1 or more"},
    {"rotary(half", 12, "')' is missing in rotary"},
    {"rotary(half) alibi", 14, "'alibi' follows a whole position"},
};

INSTANTIATE_TEST_SUITE_P(Texts, PositionErrors, testing::ValuesIn(positions));

class ScalingErrors : public testing::TestWithParam<Refused> {};

TEST_P(ScalingErrors, NameTheColumnAndTheRemedy) { expect_refused(parse_scaling(GetParam().text), GetParam()); }

constexpr Refused scalings[] = {
    {"", 1, "the end isn't a scaling; the scalings are linear, ntk, yarn, llama3"},
    {"none", 1, "'none' isn't a scaling; the scalings are linear, ntk, yarn, llama3"},
    {"linear", 7, "'(' is missing after linear; write linear(factor)"},
    {"linear(2, 3)", 9, "')' is missing in linear"},
    {"ntk(0.99)", 5, "ntk's factor is '0.99'; it must be a number of 1 or more"},
    {"yarn(4)", 7, "',' is missing in yarn; write yarn(factor, original)"},
    {"yarn(4, 0)", 9, "yarn's original is '0'; it must be a number above 0"},
    {"yarn(4, 4096, 32)", 17, "',' is missing in yarn"},
    {"yarn(4, 4096, 1, 32)", 18, "yarn's beta_slow is 32; it must be below its beta_fast, 1"},
    {"yarn(4, 4096, 32, 1, 1)", 20, "')' is missing in yarn"},
    {"llama3(8, 4, 4, 8192)", 14, "llama3's high is 4; it must be above its low, 4"},
    {"llama3(8, 1, 4)", 15, "',' is missing in llama3"},
    {"llama3(8, 0, 4, 8192)", 11, "llama3's low is '0'; it must be a number above 0"},
    {"linear(2) x", 11, "'x' follows a whole scaling"},
};

INSTANTIATE_TEST_SUITE_P(Texts, ScalingErrors, testing::ValuesIn(scalings));

} // namespace
} // namespace attune::text::position_test
