#include "mask_text.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace attune::test::mask_text_test {
namespace {

/** Rows of a mask as text: x attends, . doesn't. */
std::string picture(const std::string &mask, int64_t queries, int64_t keys, std::optional<int64_t> offset = {}) {
    const CellPredicate may_attend = mask_from_text(mask, queries, keys, offset);
    std::string rows;
    for (int64_t i = 0; i < queries; i++, rows += " ")
        for (int64_t j = 0; j < keys; j++)
            rows += may_attend(i, j) ? "x" : ".";
    rows.pop_back();
    return rows;
}

TEST(MaskText, DrawsItsTerms) {
    EXPECT_EQ(picture("none", 2, 3), "xxx xxx");
    EXPECT_EQ(picture("causal", 3, 3), "x.. xx. xxx");
    EXPECT_EQ(picture("causal(top_left)", 2, 4), "x... xx..");
    EXPECT_EQ(picture("causal(bottom_right)", 2, 4), "xxx. xxxx");
    EXPECT_EQ(picture("causal(bottom_right)", 4, 2), ".. .. x. xx");
    EXPECT_EQ(picture("window(1,0)", 3, 3), "x.. xx. .xx");
    EXPECT_EQ(picture("window(0, 1, top_left)", 2, 4), "xx.. .xx.");
    EXPECT_EQ(picture("window(-1,0)", 3, 3), "x.. xx. xxx");
    EXPECT_EQ(picture("window(0,-1)", 3, 3), "xxx .xx ..x");
    EXPECT_EQ(picture("prefix(2)", 2, 4), "xx.. xx..");
}

TEST(MaskText, BindsNotBeforeAndBeforeOr) {
    EXPECT_EQ(picture("causal | prefix(2)", 3, 3), "xx. xx. xxx");
    EXPECT_EQ(picture("!causal | prefix(1) & causal", 3, 3), "xxx x.x x..");
    EXPECT_EQ(picture("!(causal | prefix(1)) & prefix(2)", 3, 3), ".x. ... ...");
    EXPECT_EQ(picture("!!causal", 2, 2), "x. xx");
}

TEST(MaskText, TakesTheOffsetWhereNoAlignmentIsNamed) {
    EXPECT_EQ(picture("causal", 2, 4, 1), "xx.. xxx.");
    EXPECT_EQ(picture("causal & window(0,0,top_left)", 2, 2, -1), ".. ..");
    EXPECT_EQ(picture("causal", 2, 2, INT64_MAX), "xx xx");
    EXPECT_EQ(picture("window(1,1)", 2, 2, INT64_MIN), ".. ..");
    EXPECT_EQ(picture("window(9223372036854775807,0)", 2, 2, INT64_MIN), ".. ..");
    EXPECT_EQ(picture("window(9223372036854775807,-1)", 2, 2, INT64_MAX), "xx .x");
}

TEST(MaskText, RefusesWhatMeansNothing) {
    EXPECT_THROW(picture("causal", 2, 4), std::invalid_argument);
    EXPECT_THROW(picture("casual", 2, 2), std::invalid_argument);
    EXPECT_THROW(picture("causal)", 2, 2), std::invalid_argument);
}

TEST(MaskText, ReadsPatternsAndData) {
    MaskData data;
    data.query_documents = {1, 2, 1}, data.key_documents = {2, 1, 1, 5}, data.length = 3;
    data.block = [](int64_t row, int64_t column) { return row == column; };
    data.tensor = [](int64_t i, int64_t j) { return i + j == 2; };
    const auto drawn = [&](const char *text) {
        const CellPredicate mask = mask_from_text(text, 3, 4, 1, data);
        std::string cells;
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 4; j++)
                cells += mask(i, j) ? '1' : '0';
        return cells;
    };
    EXPECT_EQ(drawn("documents"), "011010000110");
    EXPECT_EQ(drawn("lengths"), "111011101110");
    EXPECT_EQ(drawn("blocks(2, 2)"), "110011000011");
    EXPECT_EQ(drawn("tensor"), "001001001000");
    EXPECT_EQ(drawn("dilated(2)"), "010110100101");
    EXPECT_EQ(drawn("dilated(2, top_left)"), "101001011010");
    EXPECT_EQ(drawn("strided(3)"), "100110011001");
    EXPECT_EQ(drawn("strided(3, 2) & !lengths | tensor"), "001101011001");
}

} // namespace
} // namespace attune::test::mask_text_test
