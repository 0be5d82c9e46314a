// Every attention kernel with scales, softcaps, temperatures and logits at their extremes.
#include "attention_test.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace attune::test {
namespace {

ATTUNE_ATTENTION_SUITE(AttentionNumbers);

TEST_P(AttentionNumbers, AnyFiniteScale) {
    for (float scale : {0.0f, -0.0f, 1.0f, -0.3f, 3.0f, -3.0f, 1e-30f}) {
        AttentionProblem p = problem(25, 49);
        p.scale = scale;
        expect_right(p);
    }
}

TEST_P(AttentionNumbers, Softcaps) {
    for (float softcap : {1e-3f, 0.5f, 5.0f, 50.0f, 1e6f}) {
        AttentionProblem p = problem(25, 49);
        p.scale = 1.0f, p.softcap = softcap, p.mask = "causal", p.offset = 3;
        expect_right(p);
    }
}

TEST_P(AttentionNumbers, SoftcapComesBeforeTheBias) {
    AttentionProblem p = problem(13, 33);
    p.scale = -2.0f, p.softcap = 1.5f, p.bias = bias({1, 2, 13, 33});
    expect_right(p);
}

TEST_P(AttentionNumbers, TemperaturesFromCoolToHot) {
    for (float temperature : {1e-3f, 0.1f, 0.5f, 2.0f, 100.0f}) {
        AttentionProblem p = problem(25, 49);
        p.temperature = temperature;
        expect_right(p);
        p.mask = "causal", p.offset = -3, p.bias = bias({1, 1, 25, 49}); // after the mask, and after the bias
        expect_right(p);
    }
}

/** A kernel may divide scores by T, or have T come with their weights: on either side of where it changes over, and with a sink. */
TEST_P(AttentionNumbers, TemperaturesAroundOne) {
    for (float temperature : {0.7f, 0.75f, 1.0f, 1000.0f, 1100.0f}) {
        AttentionProblem p = problem(25, large());
        p.temperature = temperature, p.scale = temperature / 8, p.sinks = Tensor<float>({2});
        p.sinks->fill(1.5f);
        expect_right(p);
    }
}

/** Scores near the largest float are in range, whatever they are multiplied with to be exponents. */
TEST_P(AttentionNumbers, ScoresNearTheLargestFloat) {
    for (float temperature : {0.7f, 0.75f, 1.0f, 2.0f}) {
        AttentionProblem p = problem(13, 49);
        p.temperature = temperature, p.scale = 1.0f;
        p.q.each([i = int64_t(0), d = p.dim()](float &x) mutable { x = i++ % d == 0 ? 0x1p64f : 0.0f; });
        // Scores of 3.2e38, and one of 3.3e38.
        p.k.each([i = int64_t(0), d = p.dim()](float &x) mutable {
            const int64_t channel = i % d, key = i++ / d % 49;
            x = channel > 0 ? 0.0f : key == 7 ? 0x1.fp63f : 0x1.ep63f;
        });
        const AttentionRun run = run_attention(kernel(), p);
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        EXPECT_TRUE(agrees(to_double(run.out), attention_in_double(p).out, {1e-6})) << "temperature " << temperature;
    }
}

/** A number may be taken into parts, of which the last is 2^-24 of it: whatever becomes of numbers below 2^-126, digits must not be lost.
 */
TEST_P(AttentionNumbers, SmallValues) {
    for (const float size : {0x1p-70f, 0x1p-85f, 0x1p-110f, 0x1p-120f}) {
        AttentionProblem p = problem(25, large());
        p.v.each([size](float &x) { x *= size; });
        const AttentionRun run = run_attention(kernel(), p);
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        const AttentionAnswer exact = attention_in_double(p);
        EXPECT_TRUE(agrees(to_double(run.out), exact.out, {4e-6 * largest_magnitude(to_double(p.v))})) << "values of " << size;
    }
}

TEST_P(AttentionNumbers, LargeQueriesOverSmallKeysAndSmallOverLarge) {
    for (const float size : {0x1p55f, 0x1p62f, 0x1p110f, 0x1p-110f}) {
        AttentionProblem p = problem(25, large());
        p.q.each([size](float &x) { x *= size; });
        p.k.each([size](float &x) { x /= size; });
        expect_right(p);
    }
}

/** Under a soft cap its scores are numbers. */
TEST_P(AttentionNumbers, AnInfiniteQueryUnderASoftCap) {
    AttentionProblem p = problem(25, large());
    p.softcap = 5, p.q(0, 0, 7, 3) = INFINITY, p.q(0, 1, 20, 0) = -INFINITY;
    expect_right(p);
    p.k(0, 0, 11, 3) = INFINITY;
    expect_right(p);
}

TEST_P(AttentionNumbers, ATemperatureNearZeroPicksTheLargest) {
    for (float temperature : {1e-30f, 1e-37f}) {
        AttentionProblem p = problem(25, 49);
        p.temperature = temperature;
        const AttentionRun run = run_attention(kernel(), p);
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        const std::vector<float> weights = run.weights.values();
        for (size_t row = 0; row < weights.size() / 49; row++) {
            EXPECT_EQ(std::count(&weights[row * 49], &weights[row * 49] + 49, 1.0f), 1) << row;
            EXPECT_EQ(std::count(&weights[row * 49], &weights[row * 49] + 49, 0.0f), 48) << row;
        }
    }
}

TEST_P(AttentionNumbers, AnInfiniteTemperatureGivesTheMean) {
    AttentionProblem p = problem(25, 49);
    p.temperature = INFINITY;
    expect_right(p);
}

TEST_P(AttentionNumbers, LogitsOfTenThousand) {
    for (float sign : {1.0f, -1.0f}) {
        AttentionProblem p = problem(25, 49);
        p.scale = sign * 2500.0f / std::sqrt(static_cast<float>(p.dim())); // unit-normal logits reach 4
        expect_right(p);
    }
}

TEST_P(AttentionNumbers, RowsWhollyAtPlusOrMinusTenThousand) {
    for (float level : {1e4f, -1e4f}) {
        AttentionProblem p = problem(25, 49);
        p.bias = Tensor<float>({1, 1, 1, 1});
        p.bias->fill(level);
        expect_right(p);
    }
}

TEST_P(AttentionNumbers, ALargeLogitAfterSmallOnesAndBefore) {
    const int64_t keys = large();
    for (int64_t place : {int64_t(0), keys / 2, keys - 1}) {
        AttentionProblem p = problem(25, keys);
        p.bias = Tensor<float>({1, 1, 1, keys});
        p.bias->fill(-1e4f);
        (*p.bias)(0, 0, 0, place) = 1e4f;
        expect_right(p);
    }
}

/** Every finite bias is arithmetic: a row wholly at the lowest float is the plain mean it works out to. */
TEST_P(AttentionNumbers, BiasesAllAtTheLowestFloat) {
    for (const char *mask : {"none", "causal(bottom_right)"}) {
        AttentionProblem p = problem(13, 49);
        p.mask = mask;
        p.bias = Tensor<float>({1, 1, 13, 49});
        p.bias->fill(std::numeric_limits<float>::lowest());
        expect_right(p);
    }
}

/** Below T = 1 such scores are past the range of f32: they are attended to all the same, and no log-sum-exp looks like "no key". */
TEST_P(AttentionNumbers, BiasesAtTheLowestFloatPastTheRange) {
    AttentionProblem p = problem(13, 49);
    p.temperature = 0.5f;
    p.bias = Tensor<float>({1, 1, 13, 49});
    p.bias->fill(std::numeric_limits<float>::lowest());
    const AttentionRun run = run_attention(kernel(), p);
    ASSERT_TRUE(run.status.ok()) << run.status.message;
    const std::vector<double> weights = to_double(run.weights), lse = to_double(run.lse);
    EXPECT_TRUE(agrees(weights, std::vector<double>(weights.size(), 1.0 / 49), {1e-7}));
    EXPECT_TRUE(agrees(lse, std::vector<double>(lse.size(), std::numeric_limits<float>::lowest()), {0}));
}

/** The largest is attended to alone, though no score over T is a finite float. */
TEST_P(AttentionNumbers, BiasesPastTheRangeOfOthers) {
    for (const auto &[first, step, largest] : {std::tuple(1e38f, 1e37f, 48), std::tuple(-2e38f, -2e36f, 0)}) {
        AttentionProblem p = problem(13, 49);
        p.temperature = 0.25f;
        p.bias = Tensor<float>({1, 1, 1, 49});
        for (int64_t j = 0; j < 49; j++)
            (*p.bias)(0, 0, 0, j) = first + step * static_cast<float>(std::min<int64_t>(j, 20)) + (j == 48 ? step : 0);
        const AttentionRun run = run_attention(kernel(), p);
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        const std::vector<float> weights = run.weights.values();
        for (size_t cell = 0; cell < weights.size(); cell++)
            ASSERT_EQ(weights[cell], int64_t(cell % 49) == largest ? 1.0f : 0.0f) << cell;
    }
}

/** A score of -inf, from an Inf in a key, has no weight, and the others have as much as if their biases were 0. */
TEST_P(AttentionNumbers, AnInfiniteKeyAmongBiasesAtTheLowestFloat) {
    AttentionProblem p = problem(13, 49);
    p.q.fill(1.0f), p.k.fill(0.0f);
    p.k.each([key = int64_t(0), d = p.dim()](float &value) mutable { value = key++ / d % 49 == 5 ? -INFINITY : value; });
    p.bias = Tensor<float>({1, 1, 1, 49});
    p.bias->fill(std::numeric_limits<float>::lowest());
    const AttentionRun run = run_attention(kernel(), p);
    ASSERT_TRUE(run.status.ok()) << run.status.message;
    const std::vector<float> weights = run.weights.values();
    for (size_t cell = 0; cell < weights.size(); cell++)
        ASSERT_NEAR(weights[cell], cell % 49 == 5 ? 0.0f : 1.0f / 48, 1e-8f) << cell;
}

/** A running sum of so many would be off by 1e-4. */
TEST_P(AttentionNumbers, WeightsOfManyKeysAddUpToOne) {
    if (is_reference(kernel())) GTEST_SKIP() << "as slow as it is plain";
    AttentionProblem p = problem(1, 100'000, 1, 1, 1);
    p.scale = 3 / std::sqrt(static_cast<float>(p.dim()));
    const AttentionRun run = run_attention(kernel(), p);
    ASSERT_TRUE(run.status.ok()) << run.status.message;
    double sum = 0;
    for (float weight : run.weights.values())
        sum += weight;
    EXPECT_NEAR(sum, 1, 4e-6);
}

TEST_P(AttentionNumbers, BiasesAtTheLowestFloatAmongOthers) {
    AttentionProblem p = problem(25, 97);
    p.bias = bias({1, 2, 25, 97});
    p.bias->each([&](float &value) { value = random.chance(0.5) ? std::numeric_limits<float>::lowest() : value; });
    for (int64_t j = 0; j < 97; j++)
        (*p.bias)(0, 1, 3, j) = std::numeric_limits<float>::lowest();
    expect_right(p);
}

TEST_P(AttentionNumbers, WeightsMixTheValuesIntoTheOutput) {
    AttentionProblem p = problem(25, 49, 2, 4, 2);
    p.mask = "causal", p.offset = 9;
    const AttentionRun run = run_attention(kernel(), p);
    ASSERT_TRUE(run.status.ok()) << run.status.message;
    std::vector<double> mixed, sums;
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 4; h++)
            for (int64_t i = 0; i < 25; i++) {
                for (int64_t d = 0; d < p.value_dim(); d++) {
                    double sum = 0;
                    for (int64_t j = 0; j < 49; j++)
                        sum += static_cast<double>(run.weights(b, h, i, j)) * p.v(b, h / 2, j, d);
                    mixed.push_back(sum);
                }
                double sum = 0;
                for (int64_t j = 0; j < 49; j++)
                    sum += run.weights(b, h, i, j);
                sums.push_back(sum);
            }
    EXPECT_TRUE(agrees(to_double(run.out), mixed, {4e-6 * largest_magnitude(to_double(p.v))}));
    EXPECT_TRUE(agrees(sums, std::vector<double>(sums.size(), 1.0), {4e-6}));
}

/** What else is asked for changes no bit of the output. */
TEST_P(AttentionNumbers, OptionalOutputsChangeNothing) {
    AttentionProblem p = problem(25, 49);
    p.mask = "causal", p.offset = 9;
    const AttentionRun all = run_attention(kernel(), p);
    for (auto [lse, weights] : {std::pair(false, false), {true, false}, {false, true}}) {
        const AttentionRun some = run_attention(kernel(), p, {lse, weights, {}, Call()});
        ASSERT_TRUE(some.status.ok()) << some.status.message;
        EXPECT_TRUE(same_bits(some.out, all.out));
        EXPECT_TRUE(lse ? same_bits(some.lse, all.lse) : ::testing::AssertionResult(some.lse.untouched()));
        EXPECT_TRUE(weights ? same_bits(some.weights, all.weights) : ::testing::AssertionResult(some.weights.untouched()));
    }
}

} // namespace
} // namespace attune::test
