// The oracle itself: worked examples and identities that attention must satisfy.
#include "attention_oracle.h"

#include <cmath>
#include <numeric>

#include "compare.h"
#include "golden_problems.h"
#include "softmax_oracle.h"

namespace attune::test::attention_oracle_test {
namespace {

constexpr Tolerance f64_rounding{1e-13};
constexpr Tolerance f32_inputs{2e-6}; // published in decimals, held in f32

class AttentionOracle : public SeededTest {
protected:
    AttentionProblem problem(int64_t queries = 9, int64_t keys = 13) { return normal_problem({2, 4, 2, queries, keys, 8, 5}, random); }
};

TEST(AttentionOracleGolden, GivesTheWorkedExamples) {
    for (const golden::AttentionExample &example : golden::attention_examples()) {
        const AttentionAnswer answer = attention_in_double(example.problem);
        EXPECT_TRUE(agrees(answer.weights, golden::flat(example.weights), f32_inputs)) << example.name;
        EXPECT_TRUE(agrees(answer.out, golden::flat(example.output), f32_inputs)) << example.name;
    }
}

TEST(AttentionOracleGolden, GivesSoftmaxByTemperature) {
    const Tensor<float> x = golden::tensor_of({golden::softmax_temperature::logits});
    for (const auto &[temperature, expected] : golden::softmax_temperature::by_temperature)
        EXPECT_TRUE(agrees(softmax_in_double(x, static_cast<float>(temperature), false), expected, f32_inputs)) << temperature;
}

TEST_F(AttentionOracle, WeightsSumToOneAndMixTheValues) {
    const AttentionProblem p = problem();
    p.v.fill(3.0f);
    const AttentionAnswer answer = attention_in_double(p);
    EXPECT_TRUE(agrees(answer.out, std::vector<double>(answer.out.size(), 3.0), f64_rounding));
    for (size_t row = 0; row < answer.lse.size(); row++)
        EXPECT_NEAR(std::accumulate(&answer.weights[row * 13], &answer.weights[row * 13] + 13, 0.0), 1.0, 1e-13);
}

TEST_F(AttentionOracle, AConstantBiasShiftsOnlyTheLogSumExp) {
    AttentionProblem p = problem();
    const AttentionAnswer before = attention_in_double(p);
    p.bias = Tensor<float>({1, 1, 1, 1});
    p.bias->fill(2.5f);
    AttentionAnswer after = attention_in_double(p);
    for (double &lse : after.lse)
        lse -= 2.5;
    EXPECT_TRUE(agrees(after.out, before.out, f64_rounding));
    EXPECT_TRUE(agrees(after.lse, before.lse, f64_rounding));
}

TEST_F(AttentionOracle, TemperatureDividesTheScale) {
    AttentionProblem p = problem();
    p.scale = 0.5f, p.temperature = 4;
    const AttentionAnswer divided = attention_in_double(p);
    p.scale = 0.125f, p.temperature = 1;
    EXPECT_TRUE(agrees(divided.out, attention_in_double(p).out, f64_rounding));
}

TEST_F(AttentionOracle, ALargeSoftcapChangesLittleAndASmallOneFlattens) {
    AttentionProblem p = problem();
    const AttentionAnswer plain = attention_in_double(p);
    p.softcap = 1e6f;
    EXPECT_TRUE(agrees(attention_in_double(p).out, plain.out, {1e-9}));
    p.softcap = 1e-9f;
    EXPECT_TRUE(agrees(attention_in_double(p).weights, std::vector<double>(plain.weights.size(), 1.0 / 13), {1e-8}));
}

/** The softmax state is a monoid: two disjoint sets of keys, merged by their log-sum-exps, give the state of their union. */
TEST_F(AttentionOracle, TwoSetsOfKeysMergeIntoTheirUnion) {
    AttentionProblem p = problem();
    const AttentionAnswer whole = attention_in_double(p);
    p.mask = "prefix(5)";
    const AttentionAnswer first = attention_in_double(p);
    p.mask = "!prefix(5)";
    const AttentionAnswer second = attention_in_double(p);
    std::vector<double> merged(whole.out.size());
    for (size_t i = 0; i < merged.size(); i++) {
        const double a = std::exp(first.lse[i / 5] - whole.lse[i / 5]), b = std::exp(second.lse[i / 5] - whole.lse[i / 5]);
        merged[i] = a * first.out[i] + b * second.out[i];
    }
    EXPECT_TRUE(agrees(merged, whole.out, f64_rounding));
}

TEST_F(AttentionOracle, WhatIsMaskedTakesNoPartAndWhatIsAttendedShows) {
    AttentionProblem p = problem();
    p.mask = "causal", p.offset = 0;
    const AttentionAnswer clean = attention_in_double(p);
    p.k(0, 0, 10, 3) = NAN, p.v(1, 1, 11, 0) = INFINITY;
    EXPECT_TRUE(agrees(attention_in_double(p).out, clean.out, {0}));
    p.v(0, 1, 8, 2) = NAN; // attended by query 8 of heads 2 and 3 alone
    const AttentionAnswer marked = attention_in_double(p);
    for (size_t i = 0; i < clean.out.size(); i++)
        EXPECT_EQ(std::isnan(marked.out[i]), i == ((2 * 9) + 8) * 5 + 2 || i == ((3 * 9) + 8) * 5 + 2) << i;
}

TEST_F(AttentionOracle, ARowOfNothingGivesZeros) {
    AttentionProblem p = problem();
    p.key_lengths = {0, 13};
    const AttentionAnswer answer = attention_in_double(p);
    for (size_t row = 0; row < answer.lse.size(); row++) {
        EXPECT_EQ(answer.attends_nothing[row], row < 4 * 9);
        EXPECT_EQ(std::isinf(answer.lse[row]), row < 4 * 9);
        EXPECT_EQ(answer.out[row * 5] == 0, row < 4 * 9);
    }
}

TEST_F(AttentionOracle, QueryHeadsShareKeyHeadsInGroups) {
    AttentionProblem p = problem();
    const AttentionAnswer grouped = attention_in_double(p);
    AttentionProblem repeated = normal_problem({2, 4, 4, 9, 13, 8, 5}, random);
    repeated.q = p.q;
    for (auto [to, from] : {std::pair(repeated.k, p.k), std::pair(repeated.v, p.v)})
        for (int64_t b = 0; b < 2; b++)
            for (int64_t h = 0; h < 4; h++)
                for (int64_t j = 0; j < 13; j++)
                    for (int64_t d = 0; d < to.extent[3]; d++)
                        to(b, h, j, d) = from(b, h / 2, j, d);
    EXPECT_TRUE(agrees(attention_in_double(repeated).out, grouped.out, {0}));
}

TEST_F(AttentionOracle, ABatchItemStandsAlone) {
    AttentionProblem p = problem();
    p.key_lengths = {7, 12}, p.offsets = {-1, 4}, p.mask = "causal";
    const AttentionAnswer whole = attention_in_double(p), second = attention_in_double(batch_item(p, 1));
    EXPECT_TRUE(agrees(second.out, {whole.out.end() - second.out.size(), whole.out.end()}, {0}));
}

TEST_F(AttentionOracle, RoundedToFloatItIsCloseAndNotExact) {
    const AttentionProblem p = problem();
    const AttentionAnswer exact = attention_in_double(p), rounded = attention_in_float(p);
    EXPECT_TRUE(agrees(rounded.out, exact.out, {1e-6}));
    EXPECT_GT(largest_error(rounded.out, exact.out), 1e-9);
}

/** Which is why the first order that allows a result settles it. */
TEST_F(AttentionOracle, OneMoreOrderOnlyAllowsMore) {
    const AttentionProblem p = problem();
    const AttentionAnswer exact = attention_in_double(p);
    Rounding rounding(p, exact);
    double least = 0;
    int orders = 0;
    const auto never = [&](const RoundingError &error) {
        EXPECT_GE(error.out, least);
        least = error.out, orders++;
        return ::testing::AssertionFailure();
    };
    EXPECT_FALSE(within_rounding(rounding, never));
    EXPECT_EQ(orders, 8) << "what fails has failed by all of them";
    for (int order = 0; order < 8; order++)
        EXPECT_LE(largest_error(attention_in_float(p, order).out, exact.out), least);
}

} // namespace
} // namespace attune::test::attention_oracle_test
