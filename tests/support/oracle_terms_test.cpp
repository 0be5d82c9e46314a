// The oracle's scores, sinks, dropout and masks of data: numbers worked out by hand and identities.
#include "attention_oracle.h"

#include <cmath>
#include <numeric>

#include "compare.h"

namespace attune::test::oracle_terms_test {
namespace {

constexpr Tolerance f64_rounding{1e-13};

class OracleTerms : public SeededTest {
protected:
    AttentionProblem problem(int64_t queries = 6, int64_t keys = 6) { return normal_problem({2, 4, 2, queries, keys, 8, 5}, random); }
};

TEST_F(OracleTerms, ASinkTakesItsShareAndAddsNothing) {
    AttentionProblem p = problem();
    const AttentionAnswer plain = attention_in_double(p);
    p.sinks = Tensor<float>({4});
    p.sinks->fill(-INFINITY);
    EXPECT_TRUE(agrees(attention_in_double(p).out, plain.out, f64_rounding));
    p.sinks->fill(1.5f);
    const AttentionAnswer sunk = attention_in_double(p);
    for (size_t row = 0; row < plain.lse.size(); row++) {
        EXPECT_NEAR(sunk.lse[row], std::log(std::exp(plain.lse[row]) + std::exp(1.5)), 1e-12);
        EXPECT_NEAR(sunk.out[row * 5], plain.out[row * 5] * std::exp(plain.lse[row] - sunk.lse[row]), 1e-12);
    }
    p.mask = "prefix(0)";
    const AttentionAnswer nothing = attention_in_double(p);
    EXPECT_TRUE(agrees(nothing.lse, std::vector<double>(nothing.lse.size(), 1.5), {0}));
    EXPECT_TRUE(agrees(nothing.out, std::vector<double>(nothing.out.size(), 0), {0}));
}

TEST_F(OracleTerms, DropoutKeepsTheMeanOfTheWeights) {
    AttentionProblem p = problem(64, 64);
    const AttentionAnswer plain = attention_in_double(p);
    p.dropout = 0.25f, p.seed = 11;
    const AttentionAnswer dropped = attention_in_double(p);
    EXPECT_EQ(dropped.lse, plain.lse);
    const auto sum = [](const std::vector<double> &values) { return std::accumulate(values.begin(), values.end(), 0.0); };
    EXPECT_NEAR(sum(dropped.weights) / sum(plain.weights), 1, 0.05);
    for (size_t cell = 0; cell < plain.weights.size(); cell++)
        EXPECT_NEAR(dropped.weights[cell], dropped.dropped[cell] ? 0 : plain.weights[cell] / 0.75, 1e-12);
}

TEST_F(OracleTerms, BiasesAddUp) {
    AttentionProblem p = problem();
    const std::vector<double> plain = attention_in_double(p).biased;
    p.alibi = true;
    std::vector<double> biased = attention_in_double(p).biased;
    for (size_t cell = 0; cell < biased.size(); cell++) {
        const double distance = std::abs(static_cast<double>(cell / 6 % 6) - static_cast<double>(cell % 6));
        EXPECT_NEAR(biased[cell], plain[cell] - distance * std::pow(0.25, static_cast<double>(cell / 36 % 4 + 1)), 1e-12);
    }
    p.alibi = false, p.t5 = T5Bias{4, false, Tensor<float>({8, 4})};
    p.t5->table.fill(0.5f);
    biased = attention_in_double(p).biased;
    for (size_t cell = 0; cell < biased.size(); cell++)
        EXPECT_NEAR(biased[cell], plain[cell] + 0.5, 1e-12);
}

/** Turning q and k by the same angle changes no score: only distances between positions count. */
TEST_F(OracleTerms, RotaryDependsOnDistancesAlone) {
    for (bool interleaved : {false, true}) {
        AttentionProblem p = problem();
        p.rotary = Rotary{interleaved, 100, 6};
        const AttentionAnswer here = attention_in_double(p);
        EXPECT_GT(largest_error(here.scaled, attention_in_double(problem()).scaled), 0.1);
        p.positions = {7, 8, 9, 10, 11, 12};
        EXPECT_TRUE(agrees(attention_in_double(p).scaled, here.scaled, {1e-12}));
    }
}

TEST_F(OracleTerms, DocumentsSeparate) {
    AttentionProblem p = problem();
    p.mask = "documents", p.document_starts = {0, 2, 2, 6};
    const AttentionAnswer starts = attention_in_double(p);
    for (size_t cell = 0; cell < starts.masked.size(); cell++)
        EXPECT_EQ(starts.masked[cell], (cell / 6 % 6 < 2) != (cell % 6 < 2));
    p.document_starts.clear(), p.documents = Tensor<int64_t>({1, 6});
    for (int64_t j = 0; j < 6; j++)
        (*p.documents)(0, j) = j < 2 ? 90 : -4;
    EXPECT_EQ(attention_in_double(p).out, starts.out);
}

} // namespace
} // namespace attune::test::oracle_terms_test
