#include "position_oracle.h"

#include <cmath>

#include "compare.h"
#include "golden_frequencies.h"
#include "golden_problems.h"
#include "random.h"

namespace attune::test::position_oracle_test {
namespace {

constexpr Tolerance f64_rounding{1e-12};

class RotaryOracle : public SeededTest {
protected:
    /** Scores of one query at position m against one key at position n, both turned. */
    double score(const Tensor<float> &q, const Tensor<float> &k, RotaryLayout layout, int64_t m, int64_t n) {
        const std::vector<double> a = rotary_in_long_double(q, 10000, layout, 8, m), b = rotary_in_long_double(k, 10000, layout, 8, n);
        double dot = 0;
        for (size_t d = 0; d < a.size(); d++)
            dot += a[d] * b[d];
        return dot;
    }
};

TEST_F(RotaryOracle, ScoresDependOnTheDistanceAlone) {
    const Tensor<float> q({1, 10}), k({1, 10});
    random.fill_normal(q), random.fill_normal(k);
    for (RotaryLayout layout : {RotaryLayout::half, RotaryLayout::interleaved})
        EXPECT_NEAR(score(q, k, layout, 5, 2), score(q, k, layout, 1000005, 1000002), 1e-9);
}

TEST_F(RotaryOracle, PositionZeroAndUnturnedChannelsPass) {
    const Tensor<float> x({3, 10});
    random.fill_normal(x);
    const std::vector<double> before = to_double(x), after = rotary_in_long_double(x, 10000, RotaryLayout::half, 6, 0);
    for (size_t i = 0; i < before.size(); i++)
        EXPECT_EQ(before[i] == after[i], i < 10 || i % 10 >= 6) << i;
}

TEST_F(RotaryOracle, TheLayoutsDifferByAPermutation) {
    const Tensor<float> half({4, 6}), interleaved({4, 6});
    random.fill_normal(half);
    for (int64_t n = 0; n < 4; n++)
        for (int64_t d = 0; d < 6; d++)
            interleaved(n, d % 3 * 2 + d / 3) = half(n, d);
    const std::vector<double> a = rotary_in_long_double(half, 100, RotaryLayout::half, 6, 3);
    const std::vector<double> b = rotary_in_long_double(interleaved, 100, RotaryLayout::interleaved, 6, 3);
    for (int64_t n = 0; n < 4; n++)
        for (int64_t d = 0; d < 6; d++)
            EXPECT_EQ(a[n * 6 + d], b[n * 6 + d % 3 * 2 + d / 3]);
}

TEST(RotaryOracleByHand, TurnsAQuarter) {
    const Tensor<float> x({1, 2});
    x(0, 0) = 1, x(0, 1) = 0;
    EXPECT_TRUE(agrees(rotary_in_long_double(x, 10000, RotaryLayout::half, 2, 1), {std::cos(1.0), std::sin(1.0)}, f64_rounding));
}

TEST(RotaryOracleByHand, GivesTheGoldenFrequencies) {
    for (const golden::Frequencies &golden : golden::frequencies()) {
        const std::vector<long double> got = inverse_frequencies(golden.model);
        EXPECT_TRUE(agrees({got.begin(), got.end()}, golden.radians, f64_rounding)) << golden.name;
        EXPECT_NEAR(static_cast<double>(magnitude(golden.model)), golden.magnitude, 1e-15) << golden.name;
    }
}

/** One token, whose pairs are (1, 0): afterwards each shows its angle. */
std::vector<double> angles_of(const RotaryModel &model, const std::vector<std::pair<int, int>> &pairs) {
    const Tensor<float> x({1, model.width});
    x.fill(0);
    for (const auto &pair : pairs)
        x(0, pair.first) = 1;
    // Stream s stands at position s + 1: a token's angle over its frequency tells the stream.
    const std::vector<double> y = rotary_in_long_double(x, model, [](int64_t stream, int64_t, int64_t) { return stream + 1; });
    std::vector<double> angles;
    for (const auto &pair : pairs)
        angles.push_back(std::atan2(y[pair.second], y[pair.first]));
    return angles;
}

TEST(RotaryOracleByHand, SectionsFollowStreamsAndFrequenciesRunOn) {
    RotaryModel model;
    model.width = 8, model.sections = {1, 0, 2, 1};
    EXPECT_TRUE(agrees(angles_of(model, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}), {1, 3 * 0.1, 3 * 0.01, 4 * 0.001}, f64_rounding));
    model.layout = RotaryLayout::interleaved;
    EXPECT_TRUE(agrees(angles_of(model, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}), {1, 3 * 0.1, 3 * 0.01, 4 * 0.001}, f64_rounding));
}

TEST(RotaryOracleByHand, AxesTakeConsecutiveChannelsAndFrequenciesBeginAnew) {
    RotaryModel model;
    model.width = 8, model.axes = 2;
    EXPECT_TRUE(agrees(angles_of(model, {{0, 2}, {1, 3}, {4, 6}, {5, 7}}), {1, 0.01, 2, 2 * 0.01}, f64_rounding));
    model.layout = RotaryLayout::interleaved;
    EXPECT_TRUE(agrees(angles_of(model, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}), {1, 0.01, 2, 2 * 0.01}, f64_rounding));
}

TEST(SinusoidalOracle, GivesTheGoldenTable) {
    EXPECT_TRUE(agrees(sinusoidal_in_long_double(5, 8, 10000, 0), golden::flat(golden::sinusoidal::table), f64_rounding));
}

TEST(SinusoidalOracle, EndsAnOddWidthWithASine) {
    const std::vector<double> row = sinusoidal_in_long_double(1, 3, 10000, 2);
    EXPECT_TRUE(agrees(row, {std::sin(2.0), std::cos(2.0), std::sin(2.0 * std::pow(10000.0, -2.0 / 3))}, f64_rounding));
}

} // namespace
} // namespace attune::test::position_oracle_test
