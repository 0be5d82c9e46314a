// Multi-head attention: the layer against the same made of oracles, in any layout.
#include <array>

#include "mha_case.h"

namespace attune::test {
namespace {

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

/** Inputs of one width are projected by one layer: in one run where they are one tensor, and by columns of it where they aren't. */
TEST_F(Mha, OneLayerForThreeProjections) {
    MhaCase c(random);
    c.key = c.query.clone(), c.value = c.query.clone();
    for (int i = 1; i < 3; i++) {
        c.weight[i] = Tensor<float>({c.weight[i].extent[0], 11});
        random.fill_normal(c.weight[i], 0.3);
    }
    const Tensor<float> apart = run(c);
    expect_right(c, c.problem(), apart);
    EXPECT_TRUE(same_bits(run(c, [](MultiHeadAttentionArgs &args) { args.key = args.value = nullptr; }), apart));
    const TensorView query = c.query.view();
    EXPECT_TRUE(same_bits(run(c, [&](MultiHeadAttentionArgs &args) { args.key = &query; }), apart)); // of two inputs
    c.key = Tensor<float>({2, 7, 11}), c.value = Tensor<float>({2, 7, 11});
    random.fill_normal(c.key), random.fill_normal(c.value);
    expect_right(c, c.problem(), run(c)); // more keys than queries
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

} // namespace
} // namespace attune::test
