// Blocks of transformers against torch.nn's.
#include <algorithm>
#include <cmath>
#include <functional>

#include "block_weights.h"
#include "compare.h"
#include "half.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

constexpr Tolerance block_tolerance{2e-5}; // values up to about 3, after a dozen layers

class Blocks : public ::testing::Test {
protected:
    BlockWeights weights;
    BlockMemory memory;
    const Tensor<float> x = numbers(120, {2, 6, 16}), y = numbers(121, {2, 5, 16});
    const Tensor<uint8_t> padded = padding({6, 4}, 6);
    const TensorView padded_view = padded.view();

    BlockAttention without_padding() const {
        BlockAttention options;
        options.key_padding = &padded_view, options.polarity = ATTUNE_TRUE_MASKS;
        return options;
    }
    EncoderBlock encoder(const EncoderBlockDesc &desc) {
        Result<EncoderBlock> block = EncoderBlock::create(desc);
        EXPECT_TRUE(block.ok()) << block.status().message;
        return std::move(*block);
    }
    DecoderBlock decoder(const DecoderBlockDesc &desc) {
        Result<DecoderBlock> block = DecoderBlock::create(desc);
        EXPECT_TRUE(block.ok()) << block.status().message;
        return std::move(*block);
    }
    /** Not further from float64 than twice what PyTorch's own bfloat16 is. */
    void expect_golden_in_bfloat16(const Status &status, const TypedTensor &out, const std::string &name) {
        ASSERT_TRUE(status.ok()) << status.message;
        const std::vector<double> exact = golden_file(name + "/out", out.extents()), peer = golden_file(name + "/bfloat16", out.extents());
        Tolerance tolerance{0};
        for (size_t i = 0; i < exact.size(); i++)
            tolerance.absolute = std::max(tolerance.absolute, 2 * std::abs(peer[i] - exact[i]));
        EXPECT_TRUE(agrees(out.values(), exact, tolerance)) << name;
    }
    void expect_golden(const Status &status, const Tensor<float> &out, const std::string &name) {
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(agrees(to_double(out), golden_file(name + "/out", out.extent), block_tolerance)) << name;
    }
};

TEST_F(Blocks, EncoderPostNormAndPreNorm) {
    for (const bool norm_first : {false, true}) {
        const Tensor<float> out(x.extent);
        const EncoderBlock block = encoder(weights.encoder(1, norm_first));
        const Status status = block.run(x.view(), out.view(), memory, without_padding());
        expect_golden(status, out, norm_first ? "encoder_pre" : "encoder_post");
    }
}

TEST_F(Blocks, DecoderPostNormAndPreNorm) {
    for (const bool norm_first : {false, true}) {
        const Tensor<float> out(y.extent);
        const DecoderBlock block = decoder(weights.decoder(1, norm_first));
        const Status status = block.run(y.view(), x.view(), out.view(), memory, {}, without_padding());
        expect_golden(status, out, norm_first ? "decoder_pre" : "decoder_post");
    }
}

TEST_F(Blocks, InBfloat16) {
    const TypedTensor from(ATTUNE_BF16, x), to(ATTUNE_BF16, y);
    for (const bool norm_first : {false, true}) {
        const TypedTensor encoded(ATTUNE_BF16, x.extent), decoded(ATTUNE_BF16, y.extent);
        EncoderBlockDesc encoder_desc = weights.encoder(1, norm_first);
        DecoderBlockDesc decoder_desc = weights.decoder(1, norm_first);
        encoder_desc.attention.dtype = decoder_desc.self_attention.dtype = decoder_desc.cross_attention.dtype = ATTUNE_BF16;
        const EncoderBlock encoder_block = encoder(encoder_desc);
        const DecoderBlock decoder_block = decoder(decoder_desc);
        Status status = encoder_block.run(from.view(), encoded.view(), memory, without_padding());
        expect_golden_in_bfloat16(status, encoded, norm_first ? "encoder_pre" : "encoder_post");
        status = decoder_block.run(to.view(), from.view(), decoded.view(), memory, {}, without_padding());
        expect_golden_in_bfloat16(status, decoded, norm_first ? "decoder_pre" : "decoder_post");
    }
}

TEST_F(Blocks, RotaryAndCausal) {
    const Tensor<float> out(x.extent);
    const EncoderBlock block = encoder(weights.encoder(1, true, "causal", "rotary(half)"));
    expect_golden(block.run(x.view(), out.view(), memory), out, "encoder_rotary");
}

/** torch.nn.Transformer: two encoder blocks, two decoder blocks, a norm after each stack; sinusoidal and learned positions. */
TEST_F(Blocks, EncoderAndDecoder) {
    const Tensor<float> learned = numbers(122, {9, 16});
    const TensorView table = learned.view();
    const Tensor<float> source(x.extent), target(y.extent);
    InputPositions positions;
    ASSERT_TRUE(add_input_positions(x.view(), source.view(), positions).ok());
    positions.table = &table, positions.max_length = 9;
    ASSERT_TRUE(add_input_positions(y.view(), target.view(), positions).ok());
    Status status;
    for (uint32_t i = 0; i < 2 && status; i++)
        status = encoder(weights.encoder(1 + 30 * i, false)).run(source.view(), source.view(), memory, without_padding());
    const Result<LayerNorm> encoder_norm = LayerNorm::create(weights.norm(126)), decoder_norm = LayerNorm::create(weights.norm(128));
    ASSERT_TRUE(status && encoder_norm->run(source.view(), source.view()));
    for (uint32_t i = 0; i < 2 && status; i++)
        status =
            decoder(weights.decoder(61 + 30 * i, false)).run(target.view(), source.view(), target.view(), memory, {}, without_padding());
    ASSERT_TRUE(decoder_norm->run(target.view(), target.view()));
    expect_golden(status, target, "encoder_decoder");
}

TEST_F(Blocks, PaddedTokensDoNotReachTheOthers) {
    const Tensor<float> clean(x.extent), dirty(x.extent), poisoned = x.clone();
    for (int64_t c = 0; c < 16; c++)
        poisoned(1, 4, c) = poisoned(1, 5, c) = NAN;
    const EncoderBlock block = encoder(weights.encoder(1, false));
    ASSERT_TRUE(block.run(x.view(), clean.view(), memory, without_padding()) &&
                block.run(poisoned.view(), dirty.view(), memory, without_padding()));
    for (int64_t row = 0; row < 12; row++)
        for (int64_t c = 0; c < 16; c++) {
            if (row < 10)
                EXPECT_EQ(dirty(row / 6, row % 6, c), clean(row / 6, row % 6, c));
            else
                EXPECT_TRUE(std::isnan(dirty(row / 6, row % 6, c)));
        }
}

TEST_F(Blocks, WhatIsWrongIsNamed) {
    EncoderBlockDesc desc = weights.encoder(1, false);
    desc.feed_forward_norm.bias.extent[0] = 15;
    EXPECT_NE(EncoderBlock::create(desc).status().message.find("feed_forward_norm"), std::string::npos);
    desc = weights.encoder(1, false);
    desc.attention.heads = 3;
    EXPECT_EQ(EncoderBlock::create(desc).status().message, "attention: query_weight has 16 outputs; heads is 3, and must divide them");
    DecoderBlockDesc mixed = weights.decoder(1, false);
    mixed.cross_attention.dtype = ATTUNE_BF16;
    EXPECT_EQ(DecoderBlock::create(mixed).status().message, "cross_attention.dtype is bf16; it must be f32, as self_attention.dtype");
    const Tensor<float> out(y.extent);
    const auto expect_refused = [&](const Status &status, const std::string &words) {
        EXPECT_EQ(status.code, ATTUNE_INVALID_ARGUMENT);
        EXPECT_NE(status.message.find(words), std::string::npos) << status.message;
        EXPECT_TRUE(out.untouched());
    };
    for (const bool norm_first : {false, true}) {
        const DecoderBlock block = decoder(weights.decoder(1, norm_first));
        const TensorView good = y.view(), encoded = x.view();
        TensorView bad = good;
        bad.extent[2] = 12;
        expect_refused(block.run(bad, encoded, out.view(), memory), "x has 12 channels; the layer takes 16");
        bad = good, bad.rank = 1;
        expect_refused(block.run(bad, encoded, out.view(), memory), "x.rank is 1");
        bad = good, bad.type = ATTUNE_BF16;
        expect_refused(block.run(bad, encoded, out.view(), memory), "x.type is bf16; it must be f32, as the block's");
        bad = good, bad.data = nullptr;
        expect_refused(block.run(bad, encoded, out.view(), memory), "x.data is NULL");
        bad = encoded, bad.extent[2] = 9;
        expect_refused(block.run(good, bad, out.view(), memory), "key has 9 channels");
        BlockAttention nameless = without_padding();
        nameless.polarity = attune_mask_polarity(0);
        expect_refused(block.run(good, encoded, out.view(), memory, {}, nameless), "polarity is 0");
        TensorView narrow = out.view();
        narrow.extent[1] = 4;
        EXPECT_FALSE(block.run(good, encoded, narrow, memory).ok());
        EXPECT_TRUE(out.untouched());
    }
}

TEST_F(Blocks, PartsThatDoNotFitAreNamed) {
    const Tensor<float> wide({17, 40}), narrow({40, 15}), short_norm({8});
    const auto encoder_says = [&](const std::function<void(EncoderBlockDesc &)> &spoil) {
        EncoderBlockDesc desc = weights.encoder(1, false);
        spoil(desc);
        return EncoderBlock::create(desc).status().message;
    };
    EXPECT_EQ(encoder_says([&](EncoderBlockDesc &d) {
                  d.attention_norm = {short_norm.view(), short_norm.view()};
              }),
              "attention_norm has 8 channels; it must have 16, as attention's output");
    EXPECT_EQ(encoder_says([&](EncoderBlockDesc &d) { d.feed_forward.up_weight = narrow.view(); }),
              "feed_forward's input has 15 channels; it must have 16, as attention's output");
    EXPECT_EQ(encoder_says([&](EncoderBlockDesc &d) { d.feed_forward.down_weight = wide.view(), d.feed_forward.down_bias = nullptr; }),
              "feed_forward's output has 17 channels; it must have 16, as attention's output");
    EXPECT_EQ(encoder_says([&](EncoderBlockDesc &d) { d.feed_forward.down_weight = narrow.view(), d.feed_forward.down_bias = nullptr; }),
              "feed_forward: down takes 15 channels; up gives 40");
    EXPECT_EQ(encoder_says([&](EncoderBlockDesc &d) { d.feed_forward.down_weight.rank = 1; }),
              "feed_forward: down: weight.rank is 1; it must be 2");
    EXPECT_EQ(encoder_says([&](EncoderBlockDesc &d) { d.attention.query_weight.extent[1] = 12; }),
              "attention's input has 12 channels; it must have 16, as attention's output");
    DecoderBlockDesc desc = weights.decoder(1, false);
    desc.cross_norm = {short_norm.view(), short_norm.view()};
    EXPECT_EQ(DecoderBlock::create(desc).status().message, "cross_norm has 8 channels; it must have 16, as attention's output");
}

// Of more tokens than memory could hold, were they not all the same.
TEST_F(Blocks, NoMemoryIsNoFaultOfTheCaller) {
    const Tensor<float> token = numbers(120, {1, 1, 16});
    TensorView x = token.view();
    x.extent[0] = x.extent[1] = INT32_MAX, x.stride[0] = x.stride[1] = 0;
    const EncoderBlockDesc desc = weights.encoder(1, true);
    const auto norm = LayerNorm::create(desc.attention_norm);
    const auto feed_forward = block::FeedForward::create(desc.feed_forward, ATTUNE_F32);
    ASSERT_TRUE(norm.ok() && feed_forward.ok());
    const auto layer = [](const auto &...) { return Status(); };
    for (const Status &status : {encoder(desc).run(x, x, memory), feed_forward->run(x, x, x, memory, nullptr),
                                 block::sublayer(x, x, *norm, true, memory, nullptr, layer)}) {
        EXPECT_EQ(status.code, ATTUNE_OUT_OF_MEMORY);
        EXPECT_EQ(status.message, "there is no memory for the tokens between a block's layers");
    }
}

TEST(LayerNorms, WeightsOfBfloat16AreTheNumbersTheyStandFor) {
    const Tensor<float> x = numbers(1, {5, 16}), in_float(x.extent), in_bfloat16(x.extent);
    const HalfTensor weight(ATTUNE_BF16, numbers(2, {16})), bias(ATTUNE_BF16, numbers(3, {16}));
    const Tensor<float> wide_weight({16}), wide_bias({16});
    for (int64_t c = 0; c < 16; c++)
        wide_weight(c) = float(weight.values()[size_t(c)]), wide_bias(c) = float(bias.values()[size_t(c)]);
    const auto norm = LayerNorm::create({wide_weight.view(), wide_bias.view()});
    const auto same = LayerNorm::create({TensorView(weight.view()), TensorView(bias.view())});
    ASSERT_TRUE(norm.ok() && same.ok()) << same.status().message;
    ASSERT_TRUE(norm->run(x.view(), in_float.view()) && same->run(x.view(), in_bfloat16.view()));
    EXPECT_EQ(in_bfloat16.values(), in_float.values());
}

TEST(InputPositions, HaveAGreatestLengthAndDropout) {
    const Tensor<float> x = numbers(1, {2, 40, 30}), y(x.extent), dropped(x.extent);
    InputPositions positions;
    positions.max_length = 40;
    ASSERT_TRUE(add_input_positions(x.view(), y.view(), positions).ok());
    positions.dropout = 0.25f, positions.seed = 3;
    ASSERT_TRUE(add_input_positions(x.view(), dropped.view(), positions).ok());
    const std::vector<double> all = to_double(y), kept = to_double(dropped);
    size_t gone = 0;
    for (size_t i = 0; i < all.size(); i++) {
        if (kept[i] == 0)
            gone++;
        else
            EXPECT_NEAR(kept[i], all[i] / 0.75, 1e-6);
    }
    EXPECT_NEAR(double(gone) / double(all.size()), 0.25, 0.04); // 4.5 deviations
    positions.offset = 1;
    const Status status = add_input_positions(x.view(), y.view(), positions);
    EXPECT_EQ(status.message, "x has 40 tokens from position 1; max_length is 40");
    positions.offset = INT64_MAX; // where the last token's position is past 64 bits
    EXPECT_EQ(add_input_positions(x.view(), y.view(), positions).message,
              "x has 40 tokens from position 9223372036854775807; max_length is 40");
    positions.offset = -5;
    EXPECT_EQ(add_input_positions(x.view(), y.view(), positions).message, "x has 40 tokens from position -5; max_length is 40");
    positions.offset = 0, positions.max_length = -1;
    EXPECT_EQ(add_input_positions(x.view(), y.view(), positions).message, "max_length is -1; it must be 0 or more");
    positions.max_length = 40, positions.dropout = 1;
    EXPECT_FALSE(add_input_positions(x.view(), y.view(), positions).ok());
}

TEST(InputPositions, StridesOfAxesOfOneElementDontCount) {
    const Tensor<float> x = numbers(1, {1, 1, 8}), y(x.extent), of_a_step(x.extent);
    TensorView step = of_a_step.view(); // one token of many
    step.stride[0] = 40 * 8, step.stride[1] = 16;
    InputPositions positions;
    positions.dropout = 0.25f, positions.offset = 7;
    ASSERT_TRUE(add_input_positions(x.view(), y.view(), positions).ok());
    const Status status = add_input_positions(x.view(), step, positions);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(of_a_step.values(), y.values());
    const Tensor<float> wide({2, 1, 16});
    TensorView apart = wide.view();
    apart.extent[2] = 8;
    EXPECT_EQ(add_input_positions(apart, apart, positions).message, "y has gaps between its rows; for dropout it must be contiguous");
}

TEST(InputPositions, OfSixteenBitsHaveNoDropout) {
    const Tensor<float> x = numbers(1, {5, 8});
    const HalfTensor half(ATTUNE_BF16, x), y(ATTUNE_BF16, x);
    const std::vector<uint16_t> before = y.bits;
    InputPositions positions;
    positions.dropout = 0.25f;
    const Status refused = add_input_positions(TensorView(half.view()), TensorView(y.view()), positions);
    EXPECT_EQ(refused.code, ATTUNE_UNSUPPORTED);
    EXPECT_EQ(refused.message, "y.type is bf16 and y.device cpu; for dropout they must be f32 and cpu");
    EXPECT_EQ(y.bits, before);
    positions.dropout = 0;
    EXPECT_TRUE(add_input_positions(TensorView(half.view()), TensorView(y.view()), positions).ok());
    EXPECT_NE(y.bits, before);
}

} // namespace
} // namespace attune::test
