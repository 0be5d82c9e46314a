// Multi-head attention: masks, caches, threads, empty inputs and bf16.
#include "mha_case.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

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
