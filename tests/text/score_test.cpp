// The score language: what it is read into, and what it refuses.
#include <gtest/gtest.h>

#include "refused.h"
#include "text/score.h"

namespace attune::text::score_test {
namespace {

Score read(std::string_view text) {
    const ScoreResult result = parse_score(text);
    EXPECT_TRUE(result.ok()) << result.error;
    return result.score;
}

TEST(Score, NoneIsEmpty) {
    EXPECT_TRUE(read("none").terms.empty());
    EXPECT_TRUE(read(" none ").terms.empty());
}

TEST(Score, ReadsTermsInOrder) {
    const Score score = read("softcap(30) alibi t5(32, 128, bidirectional) bias");
    ASSERT_EQ(score.terms.size(), 4u);
    EXPECT_EQ(score.terms[0].kind, ScoreKind::softcap);
    EXPECT_EQ(score.terms[0].cap, 30);
    EXPECT_EQ(score.terms[1].kind, ScoreKind::alibi);
    EXPECT_EQ(score.terms[1].alignment, Alignment::unnamed);
    EXPECT_EQ(score.terms[2].kind, ScoreKind::t5);
    EXPECT_EQ(score.terms[2].buckets, 32);
    EXPECT_EQ(score.terms[2].max_distance, 128);
    EXPECT_TRUE(score.terms[2].bidirectional);
    EXPECT_EQ(score.terms[2].column, 19);
    EXPECT_EQ(score.terms[3].kind, ScoreKind::bias);
}

TEST(Score, ReadsAlignments) {
    EXPECT_EQ(read("alibi(top_left)").terms[0].alignment, Alignment::top_left);
    const Score t5 = read("bias t5(2, 2, causal, bottom_right)");
    EXPECT_EQ(t5.terms[1].alignment, Alignment::bottom_right);
    EXPECT_FALSE(t5.terms[1].bidirectional);
}

TEST(Score, ReadsDecimalsAndExponents) {
    EXPECT_EQ(read("softcap(0.5)").terms[0].cap, 0.5);
    EXPECT_EQ(read("softcap(5e-1)").terms[0].cap, 0.5);
    EXPECT_EQ(read("softcap(2.5E+1)").terms[0].cap, 25);
}

TEST(Score, FindsATerm) {
    const Score score = read("alibi bias");
    EXPECT_EQ(score.find(ScoreKind::bias), &score.terms[1]);
    EXPECT_EQ(score.find(ScoreKind::softcap), nullptr);
    EXPECT_STREQ(name_of(ScoreKind::t5), "t5");
}

class ScoreErrors : public testing::TestWithParam<Refused> {};

TEST_P(ScoreErrors, NameTheColumnAndTheRemedy) { expect_refused(parse_score(GetParam().text), GetParam()); }

constexpr Refused refused[] = {
    {"", 1, "the score is empty; write none for no score"},
    {"alib", 1, "'alib' isn't a score; the scores are softcap, alibi, t5, bias"},
    {"alibi alib", 7, "'alib' isn't a score"},
    {"alibi & bias", 7, "'&' isn't a score; the scores are softcap, alibi, t5, bias"},
    {"none alibi", 6, "none stands alone"},
    {"alibi none", 7, "none stands alone"},
    {"alibi softcap(3)", 7, "softcap comes after alibi; it must come first"},
    {"alibi bias alibi", 12, "'alibi' stands twice"},
    {"softcap(3) softcap(4)", 12, "'softcap' stands twice"},
    {"softcap", 8, "'(' is missing after softcap; write softcap(cap)"},
    {"softcap()", 9, "softcap's cap is ')'; it must be a number above 0"},
    {"softcap(0)", 9, "softcap's cap is '0'; it must be a number above 0"},
    {"softcap(-1)", 9, "softcap's cap is '-1'; it must be a number above 0"},
    {"softcap(nan)", 9, "softcap's cap is 'nan'; it must be a number above 0"},
    {"softcap(-inf)", 9, "softcap's cap is '-inf'; it must be a number above 0"},
    {"softcap(1e)", 9, "softcap's cap is '1e'; it must be a number"},
    {"softcap(1.2.3)", 9, "softcap's cap is '1.2.3'; it must be a number"},
    {"softcap(1,5)", 10, "')' is missing in softcap"},
    {"softcap(c)", 9, "softcap's cap is 'c'; it must be a number"},
    {"softcap(1e400)", 9, "in the range of a double"},
    {"softcap(1e39)", 9, "softcap's cap is '1e39'; it must be in the range of f32"},
    {"softcap(1e-60)", 9, "softcap's cap is '1e-60'; it must be in the range of f32"},
    {"softcap(3", 10, "')' is missing in softcap; write softcap(cap), before the end"},
    {"alibi()", 7, "')' isn't an alignment; the alignments are top_left, bottom_right"},
    {"alibi(8)", 7, "'8' isn't an alignment"},
    {"bias(3)", 5, "bias takes nothing in brackets"},
    {"t5", 3, "'(' is missing after t5; write t5(buckets, max_distance, bidirectional|causal)"},
    {"t5(1, 8, causal)", 4, "t5's buckets is '1'; it must be 2 or more"},
    {"t5(32.0, 128, causal)", 4, "t5's buckets is '32.0'; it must be an integer"},
    {"t5(4294967296, 8, causal)", 4, "it must be 2147483647 or less"},
    {"t5(33, 128, bidirectional)", 4, "t5's buckets is '33'; it must be even and 4 or more where bidirectional"},
    {"t5(2, 128, bidirectional)", 4, "t5's buckets is '2'; it must be even and 4 or more where bidirectional"},
    {"t5(32, 16, causal)", 8, "t5's max_distance is '16'; it must be more than 16"},
    {"t5(32, 8, bidirectional)", 8, "t5's max_distance is '8'; it must be more than 8"},
    {"t5(32, 128)", 11, "',' is missing in t5"},
    {"t5(32, 128, both)", 13, "t5's direction is 'both'; it must be bidirectional or causal"},
    {"t5(32, 128, causal, left)", 21, "'left' isn't an alignment"},
};

INSTANTIATE_TEST_SUITE_P(Texts, ScoreErrors, testing::ValuesIn(refused));

TEST(ScoreLimits, TheSmallestBucketsAndDistances) {
    EXPECT_TRUE(parse_score("t5(32, 17, causal)").ok());
    EXPECT_TRUE(parse_score("t5(32, 9, bidirectional)").ok());
    EXPECT_TRUE(parse_score("t5(4, 2, bidirectional)").ok());
    EXPECT_TRUE(parse_score("t5(3, 2, causal)").ok());
}

} // namespace
} // namespace attune::text::score_test
