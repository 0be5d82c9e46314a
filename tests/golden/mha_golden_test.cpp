// Multi-head attention in each of its forms, against what PyTorch gave.
#include "mha_golden.h"

namespace attune::test {
namespace {

/** Three tokens of width 4; weights are [in, out] there, and so are seen through strides. */
class ThreeTokens : public ::testing::Test {
protected:
    const float x[12] = {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1};
    const float query[12] = {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1}, key[12] = {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0},
                value[12] = {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0};

    MhaResult run(bool scaled) const {
        MultiHeadAttentionDesc desc;
        desc.query_weight = TensorView(query, {3, 4}, {1, 3}), desc.key_weight = TensorView(key, {3, 4}, {1, 3});
        desc.value_weight = TensorView(value, {3, 4}, {1, 3});
        const Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
        Tensor<float> tokens({1, 3, 4});
        std::copy(std::begin(x), std::end(x), tokens.data());
        if (!layer) return {layer.status(), {}, {}};
        return run_layer(layer.value(), tokens, 1, 3, [&](MultiHeadAttentionArgs &args) {
            if (!scaled) args.attention.has_scale = 1, args.attention.scale = 1;
        });
    }
};

TEST_F(ThreeTokens, Unscaled) { expect_golden(run(false), "three_tokens_unscaled"); }
TEST_F(ThreeTokens, Scaled) { expect_golden(run(true), "three_tokens_scaled"); }

// A layer that multiplies by 1 / sqrt(D) after softmax gives these numbers instead: they are nowhere near.
TEST_F(ThreeTokens, ScalingAfterSoftmaxIsAnotherThing) {
    const std::vector<double> right = golden_file("three_tokens_scaled/weights", {1, 1, 3, 3});
    std::vector<double> late = golden_file("three_tokens_unscaled/weights", {1, 1, 3, 3});
    for (double &weight : late)
        weight /= std::sqrt(3.0);
    EXPECT_GT(largest_error(late, right), 0.1);
    EXPECT_FALSE(agrees(to_double(run(true).weights), late, {0.1}));
}

TEST(Journey, ProjectedToTwo) {
    const auto plain = make_layer({3, 0, 0, 2, 0, 1, 0, false, false});
    const auto biased = make_layer({3, 0, 0, 2, 0, 1, 0, true, false});
    ASSERT_TRUE(plain && biased);
    expect_golden(run_layer(*plain, journey(), 1), "journey_projected");
    expect_golden(run_layer(*biased, journey(), 1), "journey_projected_bias");
}

/** The sentence and the sentence backwards, the first `tokens` of each. */
Tensor<float> two_journeys(int64_t tokens) {
    const Tensor<float> one = journey(), both({2, tokens, 3});
    for (int64_t i = 0; i < tokens; i++)
        for (int64_t d = 0; d < 3; d++)
            both(0, i, d) = one(0, i, d), both(1, i, d) = one(0, 5 - i, d);
    return both;
}

class CausalJourney : public ::testing::Test {
protected:
    static MultiHeadAttentionDesc causal() {
        MultiHeadAttentionDesc desc;
        desc.mask = "causal", desc.context_length = 6;
        return desc;
    }
    const std::optional<MultiHeadAttention> layer = make_layer({3, 0, 0, 1024, 0, 1, 0, false, false}, causal());
};

TEST_F(CausalJourney, OfWholeContextAndOfLess) {
    ASSERT_TRUE(layer);
    expect_golden(run_layer(*layer, two_journeys(6), 1), "journey_causal");
    expect_golden(run_layer(*layer, two_journeys(4), 1), "journey_causal_short");
}

TEST_F(CausalJourney, NoMoreThanTheContextLength) {
    ASSERT_TRUE(layer);
    const MhaResult result = run_layer(*layer, numbers(1, {1, 7, 3}), 1);
    EXPECT_EQ(result.status.code, ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(result.status.message, "query has 7 tokens; the layer's context_length is 6");
    EXPECT_TRUE(result.out.untouched() && result.weights.untouched());
}

/** Half of the weights are gone, the others twice what they were, and the result is what those weights make of the values. */
TEST_F(CausalJourney, DropoutOfAHalf) {
    ASSERT_TRUE(layer);
    const MhaResult result = run_layer(*layer, two_journeys(6), 1, 6,
                                       [](MultiHeadAttentionArgs &args) { args.attention.dropout = 0.5f, args.attention.seed = 123; });
    ASSERT_TRUE(result.status.ok()) << result.status.message;
    const std::vector<double> kept = to_double(result.weights), all = golden_file("journey_causal/weights", {2, 1, 6, 6});
    int dropped = 0;
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i] > 0 && kept[i] == 0)
            dropped++;
        else
            EXPECT_NEAR(kept[i], 2 * all[i], 1e-6);
    }
    EXPECT_GT(dropped, 10); // of 42
    EXPECT_LT(dropped, 32);
    const Tensor<float> x = two_journeys(6), weight = numbers(5, {1024, 3});
    std::vector<double> expected;
    for (int64_t row = 0; row < 12; row++)
        for (int64_t c = 0; c < 1024; c++) {
            double sum = 0;
            for (int64_t j = 0; j < 6; j++)
                for (int64_t d = 0; d < 3; d++)
                    sum += kept[row * 6 + j] * double(x(row / 6, j, d)) * double(weight(c, d));
            expected.push_back(sum);
        }
    EXPECT_TRUE(agrees(to_double(result.out), expected, {1e-5}));
}

TEST(Heads, TwoAndFourOfSixteenChannels) {
    for (int64_t heads : {2, 4}) {
        const auto layer = make_layer({16, 0, 0, 32, 0, heads, 0, false, true, 0.5f});
        ASSERT_TRUE(layer);
        expect_golden(run_layer(*layer, numbers(100, {2, 5, 16}), heads), "heads_" + std::to_string(heads));
    }
}

/** Queries, keys and values as they are, and a mask in either polarity. */
TEST(DotProduct, MaskInEitherPolarity) {
    MultiHeadAttentionDesc desc;
    desc.head_dim = 8, desc.value_dim = 5;
    const Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
    ASSERT_TRUE(layer.ok()) << layer.status().message;
    const Tensor<uint8_t> attends = mask_of(104, {4, 7}), masked({4, 7});
    for (int64_t i = 0; i < 28; i++)
        masked(i / 7, i % 7) = !attends(i / 7, i % 7);
    const Tensor<float> q = numbers(101, {1, 4, 8}), k = numbers(102, {1, 7, 8}), v = numbers(103, {1, 7, 5});
    const TensorView key = k.view(), value = v.view(), masks[] = {attends.view(), masked.view()};
    for (const attune_mask_polarity polarity : {ATTUNE_TRUE_ATTENDS, ATTUNE_TRUE_MASKS})
        expect_golden(run_layer(layer.value(), q, 1, 7,
                                [&](MultiHeadAttentionArgs &args) {
                                    args.key = &key, args.value = &value;
                                    args.mask = &masks[polarity == ATTUNE_TRUE_MASKS], args.polarity = polarity;
                                }),
                      "dot_product");
}

TEST(DotProduct, UniformCausal) {
    MultiHeadAttentionDesc desc;
    desc.head_dim = 2, desc.mask = "causal";
    const Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
    ASSERT_TRUE(layer.ok()) << layer.status().message;
    const float zeros[6] = {}, values[6] = {1, 2, 4, 5, 7, 8};
    const TensorView key(zeros, {1, 3, 2}), value(values, {1, 3, 2});
    Tensor<float> query({1, 3, 2});
    query.fill(0);
    expect_golden(run_layer(layer.value(), query, 1, 3, [&](MultiHeadAttentionArgs &args) { args.key = &key, args.value = &value; }),
                  "uniform_causal");
}

TEST(Heads, EightOfWidth512) {
    const auto layer = make_layer({512, 0, 0, 512, 0, 8, 0, true, true, 0.0625f});
    ASSERT_TRUE(layer);
    expect_golden(run_layer(*layer, numbers(105, {2, 10, 512}), 8), "width_512");
}

TEST(Heads, OneOfSixAndTwoOfFour) {
    const auto one = make_layer({6, 0, 0, 6, 0, 1, 0, true}), two = make_layer({4, 0, 0, 4, 0, 2, 0, true});
    ASSERT_TRUE(one && two);
    expect_golden(run_layer(*one, numbers(106, {1, 4, 6}), 1), "single_head");
    expect_golden(run_layer(*two, numbers(107, {1, 5, 4}), 2), "two_heads");
}

/** torch.nn.MultiheadAttention with widths of their own for keys and values, a mask and padding, true where masked. */
TEST(TorchModule, CrossAttention) {
    const auto layer = make_layer({32, 24, 20, 32, 0, 4, 0, true, true, 0.5f});
    ASSERT_TRUE(layer);
    const Tensor<float> k = numbers(111, {2, 9, 24}), v = numbers(112, {2, 9, 20});
    const Tensor<uint8_t> mask = mask_of(113, {6, 9}), pad = padding({9, 5}, 9);
    mask.each([](uint8_t &cell) { cell = !cell; });
    const TensorView key = k.view(), value = v.view(), mask_view = mask.view(), pad_view = pad.view();
    expect_golden(run_layer(*layer, numbers(110, {2, 6, 32}), 4, 9,
                            [&](MultiHeadAttentionArgs &args) {
                                args.key = &key, args.value = &value, args.mask = &mask_view, args.key_padding = &pad_view;
                                args.polarity = ATTUNE_TRUE_MASKS;
                            }),
                  "cross");
}

TEST(TorchModule, SelfAttention) {
    const auto layer = make_layer({32, 0, 0, 32, 0, 4, 0, true, true, 0.5f});
    ASSERT_TRUE(layer);
    expect_golden(run_layer(*layer, numbers(110, {2, 6, 32}), 4), "self");
}

TEST(TorchModule, GroupedHeads) {
    MultiHeadAttentionDesc desc;
    desc.mask = "causal";
    const auto layer = make_layer({32, 0, 0, 32, 8, 8, 2, true, true, 0.5f}, desc);
    ASSERT_TRUE(layer);
    expect_golden(run_layer(*layer, numbers(110, {2, 6, 32}), 8), "grouped", false);
}

} // namespace
} // namespace attune::test
