// Texts as generator parameters: how "=" passes Halide's command line, and what a bad text throws.
#include <gtest/gtest.h>

#include "generators/text_parameters.h"

#include <Halide.h>

namespace attune::test::text_parameters_test {
namespace {

using namespace generators;

template <typename Parse> std::string thrown(const Parse &parse) {
    try {
        parse();
    } catch (const Halide::CompileError &error) {
        return error.what();
    }
    return "";
}

TEST(TextParameters, AColonStandsForAnEqualsSign) {
    EXPECT_EQ(position_parameter("rotary(half, base:500000, width:64)").base, 500000);
    EXPECT_EQ(position_parameter("rotary(half, base=500000)").base, 500000);
}

TEST(TextParameters, NothingIsNone) {
    EXPECT_EQ(mask_parameter("").root.kind, text::MaskKind::none);
    EXPECT_TRUE(score_parameter("").terms.empty());
    EXPECT_EQ(position_parameter("").kind, text::PositionKind::none);
}

TEST(TextParameters, ABadTextThrowsItsColumn) {
    EXPECT_NE(
        thrown([] { mask_parameter("causal & windw(1, 1)"); }).find("attune: mask \"causal & windw(1, 1)\": column 10: 'windw' isn't"),
        std::string::npos);
    EXPECT_NE(thrown([] { score_parameter("alibi alib"); }).find("attune: score \"alibi alib\": column 7: 'alib' isn't"),
              std::string::npos);
    EXPECT_NE(
        thrown([] { position_parameter("rotary(half, bas:3)"); }).find("attune: position \"rotary(half, bas=3)\": column 14: 'bas' isn't"),
        std::string::npos);
}

} // namespace
} // namespace attune::test::text_parameters_test
