// What the mask language refuses, at which column, and what its sentences name.
#include <gtest/gtest.h>

#include "refused.h"
#include "text/mask.h"
#include "text/reader.h"

namespace attune::text::mask_errors_test {
namespace {

class MaskErrors : public testing::TestWithParam<Refused> {};

TEST_P(MaskErrors, NameTheColumnAndTheRemedy) { expect_refused(parse_mask(GetParam().text), GetParam()); }

constexpr Refused cases[] = {
    {"", 1, "empty; write none"},
    {"   ", 1, "empty"},
    {"casual", 1,
     "'casual' isn't a mask; the masks are none, causal, window, prefix, dilated, strided, blocks, documents, lengths, tensor"},
    {"Causal", 1, "'Causal' isn't a mask"},
    {"causal & ", 10, "the end stands where a mask should; the masks are none, causal, window, prefix"},
    {"causal && prefix(1)", 9, "'&' stands where a mask should"},
    {"& causal", 1, "'&' stands where a mask should"},
    {"causal prefix(1)", 8, "'prefix' follows a whole mask; join masks with & or |"},
    {"causal)", 7, "')' follows a whole mask"},
    {"causal\u00a0", 7, "'\u00a0' follows a whole mask"},
    {"\U0001f600 & causal", 1, "'\U0001f600'"},
    {"(causal", 8, "')' is missing to close a bracket, before the end"},
    {"causal()", 8, "')' isn't an alignment; the alignments are top_left, bottom_right"},
    {"causal(left)", 8, "'left' isn't an alignment"},
    {"causal(top_left", 16, "')' is missing in causal"},
    {"window", 7, "'(' is missing after window; write window(left, right)"},
    {"window(3)", 9, "',' is missing in window"},
    {"window(3, 0, 1)", 14, "'1' isn't an alignment"},
    {"window(3, 0 top_left)", 13, "')' is missing in window"},
    {"window(-2, 0)", 8, "window's left is '-2'; it must be -1 or more (-1: no limit)"},
    {"window(0, -5)", 11, "window's right is '-5'"},
    {"prefix(-1)", 8, "prefix's length is '-1'; it must be 0 or more"},
    {"prefix(3, top_left)", 9, "')' is missing in prefix"},
    {"prefix()", 8, "prefix's length is ')'; it must be an integer"},
    {"prefix(3.5)", 8, "prefix's length is '3.5'; it must be an integer"},
    {"prefix(1e3)", 8, "'1e3'; it must be an integer"},
    {"prefix(-)", 8, "'-'; it must be an integer"},
    {"prefix(9223372036854775808)", 8, "it must fit in 64 bits"},
    {"prefix(n)", 8, "'n'; it must be a number (names are for kernels built by attune_add_kernel"},
    {"prefix(1e-3)", 8, "'1e-3'; it must be an integer"},
    {"dilated", 8, "'(' is missing after dilated; write dilated(step) or dilated(step, top_left|bottom_right), before the end"},
    {"dilated(0)", 9, "dilated's step is '0'; it must be 1 or more"},
    {"dilated(2, 3)", 12, "'3' isn't an alignment"},
    {"dilated(2, top_left, 3)", 20, "')' is missing in dilated"},
    {"strided(0)", 9, "strided's step is '0'; it must be 1 or more"},
    {"strided(4, 0)", 12, "strided's width is '0'; it must be 1 or more"},
    {"strided(4, 5)", 12, "strided's width is '5'; it must be at most its step, 4"},
    {"strided(4,)", 11, "strided's width is ')'; it must be an integer"},
    {"strided(4, top_left)", 12, "strided's width is 'top_left'; it must be a number"},
    {"strided(4, 1, 1)", 13, "')' is missing in strided"},
    {"blocks", 7, "'(' is missing after blocks; write blocks(queries, keys)"},
    {"blocks(64)", 10, "',' is missing in blocks"},
    {"blocks(64, 0)", 12, "blocks's keys is '0'; it must be 1 or more"},
    {"documents()", 10, "documents takes nothing in brackets"},
    {"lengths(3)", 8, "lengths takes nothing in brackets"},
    {"causal | tensor(0)", 16, "tensor takes nothing in brackets"},
    {"causal=1", 7, "'=' follows a whole mask"},
    {"window(causal, 0)", 8, "window's left is 'causal'; it must be a number"},
    {"none & causal", 6, "none stands alone"},
    {"causal & none", 10, "none stands alone"},
    {"!none", 2, "none stands alone"},
    {"(none)", 2, "none stands alone"},
    {"causal # comment", 8, "'#' follows a whole mask"},
    {"causal\xc3\xa9", 7, "follows a whole mask"},
};

INSTANTIATE_TEST_SUITE_P(Texts, MaskErrors, testing::ValuesIn(cases));

TEST(MaskLimits, RefuseALongText) {
    const ParseResult result = parse_mask(std::string(max_text_length + 1, ' '));
    EXPECT_NE(result.error.find("has 4097 characters; it may have 4096"), std::string::npos) << result.error;
}

TEST(MaskLimits, RefuseDeepBracketsAndNots) {
    for (const char sign : {'(', '!'}) {
        const ParseResult result = parse_mask(std::string(max_mask_depth + 1, sign) + "causal");
        EXPECT_NE(result.error.find("more than 64 deep"), std::string::npos) << result.error;
        EXPECT_EQ(result.column, max_mask_depth + 1);
    }
}

TEST(MaskLimits, RefuseReservedNamesAsParameters) {
    EXPECT_FALSE(parse_mask("prefix(top_left)", {true}).ok());
    EXPECT_FALSE(parse_mask("prefix(none)", {true}).ok());
    EXPECT_FALSE(parse_mask("prefix(lengths)", {true}).ok());
    EXPECT_TRUE(parse_mask("prefix(Top_left)", {true}).ok());
}

} // namespace
} // namespace attune::text::mask_errors_test
