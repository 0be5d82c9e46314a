// Multi-head attention: the layer against the same made of oracles, and what its runs must have in common.
#include <array>
#include <cmath>
#include <optional>

#include "attention_oracle.h"
#include "attune/attune.hpp"
#include "compare.h"
#include "linear_oracle.h"
#include "random.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

/** Widths, weights and inputs of a layer; B 2, N 5, M 7. */
struct MhaCase {
    int64_t heads = 4, kv_heads = 2, dim = 6, value_dim = 5, d_out = 9;
    Tensor<float> query{{2, 5, 11}}, key{{2, 7, 8}}, value{{2, 7, 3}};
    Tensor<float> weight[4], bias[4];
    std::string mask = "none", position = "none";

    explicit MhaCase(Random &random) {
        for (const Tensor<float> *x : {&query, &key, &value})
            random.fill_normal(*x);
        const int64_t in[] = {11, 8, 3, heads * value_dim}, out[] = {heads * dim, kv_heads * dim, kv_heads * value_dim, d_out};
        for (int i = 0; i < 4; i++) {
            weight[i] = Tensor<float>({out[i], in[i]}), bias[i] = Tensor<float>({out[i]});
            random.fill_normal(weight[i], 1 / std::sqrt(double(in[i]))), random.fill_normal(bias[i], 0.3);
        }
    }
    Result<MultiHeadAttention> make(attune_type dtype = ATTUNE_F32) const {
        const TensorView output = weight[3].view(), biases[] = {bias[0].view(), bias[1].view(), bias[2].view(), bias[3].view()};
        MultiHeadAttentionDesc desc;
        desc.dtype = dtype, desc.heads = heads, desc.kv_heads = kv_heads;
        desc.query_weight = weight[0].view(), desc.key_weight = weight[1].view(), desc.value_weight = weight[2].view();
        desc.query_bias = &biases[0], desc.key_bias = &biases[1], desc.value_bias = &biases[2];
        desc.output_weight = &output, desc.output_bias = &biases[3], desc.mask = mask, desc.position = position;
        return MultiHeadAttention::create(desc);
    }

    std::vector<double> projected(int i, const std::vector<double> &x) const {
        LinearProblem p;
        p.out = weight[i].extent[0], p.in = weight[i].extent[1], p.rows = static_cast<int64_t>(x.size()) / p.in;
        p.x = x, p.weight = to_double(weight[i]), p.bias = to_double(bias[i]);
        return linear_in_double(p);
    }
    /** A projection as attention's oracle takes it: [B, heads, tokens, width]. */
    Tensor<float> heads_of(int i, const Tensor<float> &x, int64_t count) const {
        const std::vector<double> y = projected(i, to_double(x));
        const int64_t width = weight[i].extent[0] / count;
        const Tensor<float> split({x.extent[0], count, x.extent[1], width});
        for (int64_t row = 0; row < x.extent[0] * x.extent[1]; row++)
            for (int64_t c = 0; c < count * width; c++)
                split(row / x.extent[1], c / width, row % x.extent[1], c % width) = static_cast<float>(y[row * count * width + c]);
        return split;
    }
    AttentionProblem problem() const {
        AttentionProblem p;
        p.q = heads_of(0, query, heads), p.k = heads_of(1, key, kv_heads), p.v = heads_of(2, value, kv_heads), p.mask = mask;
        return p;
    }
    /** The layer's result, [B, N, d_out], of what attention gives. */
    std::vector<double> output(const AttentionAnswer &answer) const {
        const int64_t n = query.extent[1];
        std::vector<double> tokens;
        for (int64_t row = 0; row < query.extent[0] * n; row++)
            for (int64_t c = 0; c < heads * value_dim; c++)
                tokens.push_back(answer.out[((row / n * heads + c / value_dim) * n + row % n) * value_dim + c % value_dim]);
        return projected(3, tokens);
    }
};

class Mha : public SeededTest {
protected:
    template <typename Adjust> Tensor<float> run(const MhaCase &c, Adjust adjust, attune_call *call = nullptr) {
        const Tensor<float> out({2, c.query.extent[1], c.d_out});
        const TensorView key = c.key.view(), value = c.value.view();
        MultiHeadAttentionArgs args(c.query.view(), out.view());
        args.key = &key, args.value = &value;
        adjust(args);
        const Result<MultiHeadAttention> layer = c.make();
        EXPECT_TRUE(layer.ok()) << layer.status().message;
        const Status status = layer.value().run(args, call);
        EXPECT_TRUE(status.ok()) << status.message;
        return out;
    }
    Tensor<float> run(const MhaCase &c) {
        return run(c, [](MultiHeadAttentionArgs &) {});
    }
    void expect_right(const MhaCase &c, const AttentionProblem &p, const Tensor<float> &got) {
        EXPECT_TRUE(agrees(to_double(got), c.output(attention_in_double(p)), {4e-6}));
    }
};

TEST_F(Mha, CrossAttentionWithGroupedHeadsOfUnequalWidths) {
    const MhaCase c(random);
    expect_right(c, c.problem(), run(c));
}

TEST_F(Mha, EveryNumberOfTheRunReachesAttention) {
    MhaCase c(random);
    c.mask = "causal(bottom_right)";
    AttentionProblem p = c.problem();
    p.scale = -0.7f, p.temperature = 1.5f, p.dropout = 0.3f, p.seed = 99, p.key_lengths = {7, 4};
    const int32_t lengths[] = {7, 4};
    const TensorView lengths_view(lengths, {2});
    const Tensor<float> weights({2, 4, 5, 7});
    const TensorView weights_view = weights.view();
    const Tensor<float> out = run(c, [&](MultiHeadAttentionArgs &args) {
        args.attention.has_scale = 1, args.attention.scale = -0.7f, args.attention.temperature = 1.5f;
        args.attention.dropout = 0.3f, args.attention.seed = 99;
        args.attention.key_lengths = &lengths_view, args.attention.weights = &weights_view;
    });
    expect_right(c, p, out);
    EXPECT_TRUE(agrees(to_double(weights), attention_in_double(p).weights, {4e-6}));
}

TEST_F(Mha, RotaryByPosition) {
    MhaCase c(random);
    c.position = "rotary(half, base=500)";
    AttentionProblem p = c.problem();
    p.rotary = Rotary{false, 500, 0}, p.offset = 3;
    expect_right(c, p, run(c, [](MultiHeadAttentionArgs &args) { args.attention.has_offset = 1, args.attention.offset = 3; }));
}

TEST_F(Mha, LayoutsOfTheirOwn) {
    MhaCase c(random);
    const Tensor<float> contiguous = run(c), out({2, 5, 9}, {{1, 0, 2}, 3});
    c.query = c.query.laid_out({{1, 0, 2}, 2}), c.key = c.key.laid_out({{1, 0, 2}, 0}), c.value = c.value.laid_out({{0, 1, 2}, 4});
    c.weight[0] = c.weight[0].laid_out({{1, 0}, 0});
    run(c, [&](MultiHeadAttentionArgs &args) { args.out = out.view(); });
    EXPECT_TRUE(same_bits(out, contiguous));
    EXPECT_TRUE(out.canaries_intact());
}

TEST_F(Mha, WithoutABatch) {
    const MhaCase c(random);
    const Tensor<float> all = run(c), one({5, 9});
    const Tensor<float> query({5, 11}), key({7, 8}), value({7, 3});
    std::copy_n(c.query.data(), 55, query.data()), std::copy_n(c.key.data(), 56, key.data()), std::copy_n(c.value.data(), 21, value.data());
    const TensorView key_view = key.view(), value_view = value.view();
    run(c, [&](MultiHeadAttentionArgs &args) {
        args.query = query.view(), args.key = &key_view, args.value = &value_view, args.out = one.view();
    });
    EXPECT_TRUE(same_bits(one, all.item(0)));
}

TEST_F(Mha, ResidualInThePlaceOfTheResult) {
    const MhaCase c(random);
    const Tensor<float> plain = run(c), sum({2, 5, 9});
    random.fill_normal(sum);
    const std::vector<double> before = to_double(sum);
    const TensorView view = sum.view();
    run(c, [&](MultiHeadAttentionArgs &args) { args.out = view, args.residual = &view; });
    std::vector<double> expected = to_double(plain);
    for (size_t i = 0; i < expected.size(); i++)
        expected[i] += before[i];
    EXPECT_TRUE(agrees(to_double(sum), expected, {1e-6}));
}

/** One linear layer's rows of queries, keys and values, read where they lie. */
TEST_F(Mha, SlicesOfOneProjectionWithoutWeights) {
    const Tensor<float> packed({2, 5, 48}), out({2, 5, 16}), q({2, 4, 5, 4}), k({2, 4, 5, 4}), v({2, 4, 5, 4});
    random.fill_normal(packed);
    const std::array<const Tensor<float> *, 3> parts = {&q, &k, &v};
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < 5; i++)
            for (int64_t c = 0; c < 48; c++)
                (*parts[static_cast<size_t>(c / 16)])(b, c % 16 / 4, i, c % 4) = packed(b, i, c);
    MultiHeadAttentionDesc desc;
    desc.heads = 4, desc.head_dim = 4, desc.mask = "causal";
    const Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
    ASSERT_TRUE(layer.ok()) << layer.status().message;
    const auto slice = [&](int64_t part) { return TensorView(packed.data() + part * 16, {2, 5, 16}, {5 * 48, 48, 1}); };
    const TensorView key = slice(1), value = slice(2);
    MultiHeadAttentionArgs args(slice(0), out.view());
    args.key = &key, args.value = &value;
    ASSERT_TRUE(layer.value().run(args).ok());
    AttentionProblem p;
    p.q = q, p.k = k, p.v = v, p.mask = "causal";
    const std::vector<double> heads = attention_in_double(p).out;
    std::vector<double> expected;
    for (int64_t place = 0; place < 160; place++)
        expected.push_back(heads[((place / 80 * 4 + place % 16 / 4) * 5 + place / 16 % 5) * 4 + place % 4]);
    EXPECT_TRUE(agrees(to_double(out), expected, {4e-6}));
}

TEST_F(Mha, MaskAndPaddingOfBothPolarities) {
    const MhaCase c(random);
    AttentionProblem p = c.problem();
    const Tensor<uint8_t> mask({2, 4, 5, 7}), pad({2, 7}), both({2, 4, 5, 7});
    random.fill_boolean(mask, 0.7), random.fill_boolean(pad, 0.7);
    for_each_index(mask.extent, [&](const Extents &i) { both(i[0], i[1], i[2], i[3]) = mask(i[0], i[1], i[2], i[3]) && pad(i[0], i[3]); });
    p.boolean_mask = both;
    const TensorView mask_view = mask.view(), pad_view = pad.view();
    expect_right(c, p, run(c, [&](MultiHeadAttentionArgs &args) {
                     args.mask = &mask_view, args.key_padding = &pad_view, args.polarity = ATTUNE_TRUE_ATTENDS;
                 }));
    mask.each([](uint8_t &cell) { cell = !cell; }), pad.each([](uint8_t &cell) { cell = !cell; });
    expect_right(c, p, run(c, [&](MultiHeadAttentionArgs &args) {
                     args.mask = &mask_view, args.key_padding = &pad_view, args.polarity = ATTUNE_TRUE_MASKS;
                 }));
}

// Padding becomes lengths where all of it stands at the end: an item's result must not tell.
TEST_F(Mha, PaddingOfOneItemDoesNotShowInTheOther) {
    const MhaCase c(random);
    const Tensor<uint8_t> pad({2, 7});
    pad.fill(1), pad(0, 5) = pad(0, 6) = 0;
    const TensorView view = pad.view();
    const auto add = [&](MultiHeadAttentionArgs &args) { args.key_padding = &view, args.polarity = ATTUNE_TRUE_ATTENDS; };
    const Tensor<float> at_the_end = run(c, add);
    AttentionProblem p = c.problem();
    p.key_lengths = {5, 7};
    expect_right(c, p, at_the_end);
    pad(1, 2) = 0;
    EXPECT_TRUE(same_bits(run(c, add).item(0), at_the_end.item(0)));
}

TEST_F(Mha, SameBitsForAnyNumberOfThreads) {
    const MhaCase c(random);
    const Tensor<float> one = run(c);
    for (int32_t threads : {1, 2, 3, 7}) {
        Call call(threads);
        EXPECT_TRUE(same_bits(run(
                                  c, [](MultiHeadAttentionArgs &) {}, &call),
                              one))
            << threads;
        EXPECT_GT(call.workspace_bytes, 0u);
    }
}

TEST_F(Mha, NothingToDoAndNothingToAttendTo) {
    MhaCase c(random);
    c.query = Tensor<float>({2, 0, 11});
    EXPECT_EQ(run(c).elements(), 0);
    MhaCase keyless(random);
    keyless.key = Tensor<float>({2, 0, 8}), keyless.value = Tensor<float>({2, 0, 3});
    const Tensor<float> out = run(keyless); // the heads give zeros
    for_each_index(out.extent, [&](const Extents &i) { EXPECT_EQ(out(i[0], i[1], i[2]), keyless.bias[3](i[2])); });
}

/** Tokens one by one with a cache give what they give together. */
TEST_F(Mha, DecodesWithACache) {
    MhaCase c(random);
    c.mask = "causal", c.position = "rotary(half)";
    c.key = Tensor<float>({2, 5, 8}), c.value = Tensor<float>({2, 5, 3});
    random.fill_normal(c.key), random.fill_normal(c.value);
    const std::vector<double> together = to_double(run(c));
    const Tensor<float> keys({2, 2, 6, 6}), values({2, 2, 6, 5}), out({2, 5, 9});
    keys.fill(NAN), values.fill(NAN);
    Tensor<int32_t> lengths({2});
    const Result<MultiHeadAttention> layer = c.make();
    ASSERT_TRUE(layer.ok());
    for (int32_t t = 0; t < 5; t++) {
        lengths.fill(t);
        const auto token = [&](const Tensor<float> &x) {
            return TensorView(x.data() + t * x.stride[1], {2, 1, x.extent[2]}, {x.stride[0], x.stride[1], 1});
        };
        Cache cache(keys.view(), values.view(), lengths.view());
        const TensorView key = token(c.key), value = token(c.value);
        MultiHeadAttentionArgs args(token(c.query), token(out));
        args.key = &key, args.value = &value, args.attention.cache = &cache;
        const Status status = layer.value().run(args);
        ASSERT_TRUE(status.ok()) << status.message;
    }
    EXPECT_TRUE(agrees(to_double(out), together, {4e-6}));
}

TEST_F(Mha, ContextLengthCountsTheCache) {
    const Tensor<float> weight({6, 6}), x({2, 1, 6}), keys({2, 1, 9, 6}), values({2, 1, 9, 6}), out({2, 1, 6});
    for (const Tensor<float> *t : {&weight, &x, &keys, &values})
        random.fill_normal(*t);
    Tensor<int32_t> lengths({2});
    lengths(0) = 2, lengths(1) = 3;
    MultiHeadAttentionDesc desc;
    desc.query_weight = desc.key_weight = desc.value_weight = weight.view(), desc.mask = "causal", desc.context_length = 4;
    const Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
    ASSERT_TRUE(layer.ok()) << layer.status().message;
    Cache cache(keys.view(), values.view(), lengths.view());
    MultiHeadAttentionArgs args(x.view(), out.view());
    args.attention.cache = &cache;
    EXPECT_TRUE(layer.value().run(args).ok());
    lengths(1) = 4;
    EXPECT_EQ(layer.value().run(args).message, "query has 5 tokens, those of the cache among them; the layer's context_length is 4");
}

TEST_F(Mha, BFloat16) {
    MhaCase c(random);
    for (Tensor<float> *x : {&c.query, &c.key, &c.value, &c.weight[0], &c.weight[1], &c.weight[2], &c.weight[3]})
        x->each([](float &value) { value = std::ldexp(std::round(std::ldexp(value, 6)), -6); }); // few bits
    const Result<MultiHeadAttention> layer = c.make(ATTUNE_BF16);
    ASSERT_TRUE(layer.ok()) << layer.status().message;
    const TypedTensor query(ATTUNE_BF16, c.query), key(ATTUNE_BF16, c.key), value(ATTUNE_BF16, c.value), out(ATTUNE_BF16, {2, 5, 9});
    const TensorView key_view = key.view(), value_view = value.view();
    MultiHeadAttentionArgs args(query.view(), out.view());
    args.key = &key_view, args.value = &value_view;
    const Status status = layer.value().run(args);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(agrees(out.values(), c.output(attention_in_double(c.problem())), {0.03})); // four roundings to 8 bits
}

} // namespace
} // namespace attune::test
