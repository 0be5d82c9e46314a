// Drawing tokens: how often each is drawn, what top-k and top-p leave, and that seeds decide.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "gpt/sampler.h"
#include "thrown.h"

namespace gpt {
namespace {

constexpr int draws = 40000;

std::vector<double> frequencies(const std::vector<float> &logits, const SamplingOptions &options) {
    Sampler sampler(options);
    std::vector<double> counts(logits.size(), 0);
    for (int i = 0; i < draws; ++i)
        counts[static_cast<size_t>(sampler.draw(logits.data(), static_cast<int64_t>(logits.size())))] += 1;
    for (double &count : counts)
        count /= draws;
    return counts;
}

/** Within five standard deviations of a binomial distribution; exactly 0 where the probability is 0. */
void expect_near(const std::vector<double> &counts, const std::vector<double> &probabilities) {
    for (size_t i = 0; i < counts.size(); ++i)
        EXPECT_LE(std::abs(counts[i] - probabilities[i]), 5 * std::sqrt(probabilities[i] * (1 - probabilities[i]) / draws)) << i;
}

const std::vector<float> logits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};

TEST(Sampler, DrawsBySoftmax) { expect_near(frequencies(logits, {}), {0.1, 0.4, 0.2, 0.3}); }

TEST(Sampler, TemperatureDividesLogits) {
    SamplingOptions options;
    options.temperature = 0.5; // probabilities squared
    expect_near(frequencies(logits, options), {0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3});
}

TEST(Sampler, TopKKeepsTheLikeliest) {
    SamplingOptions options;
    options.top_k = 2;
    expect_near(frequencies(logits, options), {0, 0.4 / 0.7, 0, 0.3 / 0.7});
    options.top_k = 100;
    expect_near(frequencies(logits, options), {0.1, 0.4, 0.2, 0.3});
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
    SamplingOptions options;
    options.top_p = 0.75;
    expect_near(frequencies(logits, options), {0, 0.4 / 0.9, 0.2 / 0.9, 0.3 / 0.9});
    options.top_p = 1e-9; // one is always left
    expect_near(frequencies(logits, options), {0, 1, 0, 0});
}

TEST(Sampler, TopPCountsWithinTopK) {
    SamplingOptions options;
    options.top_k = 3, options.top_p = 0.7; // of 4/9, 3/9 and 2/9
    expect_near(frequencies(logits, options), {0, 0.4 / 0.7, 0, 0.3 / 0.7});
}

TEST(Sampler, TemperatureZeroIsTheFirstOfTheLikeliest) {
    SamplingOptions options;
    options.temperature = 0;
    const std::vector<float> tied = {0, 7, -std::numeric_limits<float>::infinity(), 7};
    expect_near(frequencies(tied, options), {0, 1, 0, 0});
}

TEST(Sampler, TinyTemperaturesDontOverflow) {
    SamplingOptions options;
    options.temperature = 1e-300;
    expect_near(frequencies({-3e38f, 3e38f, 2.9e38f}, options), {0, 1, 0});
}

TEST(Sampler, Infinities) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    expect_near(frequencies({-inf, 2, 2, -inf}, {}), {0, 0.5, 0.5, 0});
    expect_near(frequencies({inf, 2, inf}, {}), {0.5, 0, 0.5});
}

std::vector<int32_t> sequence(uint64_t seed, uint32_t stream) {
    SamplingOptions options;
    options.seed = seed;
    Sampler sampler(options, stream);
    std::vector<int32_t> tokens;
    for (int i = 0; i < 50; ++i)
        tokens.push_back(sampler.draw(logits.data(), 4));
    return tokens;
}

TEST(Sampler, SeedAndStreamDecide) {
    EXPECT_EQ(sequence(1, 0), sequence(1, 0));
    EXPECT_NE(sequence(1, 0), sequence(2, 0));
    EXPECT_NE(sequence(1, 0), sequence(uint64_t(1) << 32 | 1, 0));
    EXPECT_NE(sequence(1, 0), sequence(1, 1));
}

TEST(Sampler, BadOptionsAndLogits) {
    const auto with = [](double temperature, int32_t k, double p) { return thrown([=] { Sampler({temperature, k, p, 0}); }); };
    EXPECT_EQ(with(-1, 0, 1), "temperature is -1; it must be 0 or more");
    EXPECT_EQ(with(std::nan(""), 0, 1), "temperature is nan; it must be 0 or more");
    EXPECT_EQ(with(1, -2, 1), "top_k is -2; it must be 0 or more");
    EXPECT_EQ(with(1, 0, 0), "top_p is 0; it must be above 0 and at most 1");
    EXPECT_EQ(with(1, 0, 1.5), "top_p is 1.5; it must be above 0 and at most 1");
    const auto drawn = [](std::vector<float> values) {
        return thrown([&] { Sampler({}).draw(values.data(), static_cast<int64_t>(values.size())); });
    };
    EXPECT_EQ(drawn({1, NAN}), "the logit of token 1 is NaN");
    EXPECT_EQ(drawn({-INFINITY}), "there are 0 logits above -inf; there must be 1 or more");
    EXPECT_EQ(drawn({}), "there are 0 logits above -inf; there must be 1 or more");
}

} // namespace
} // namespace gpt
