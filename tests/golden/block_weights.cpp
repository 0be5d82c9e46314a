#include "block_weights.h"

namespace attune::test {

const TensorView &BlockWeights::keep(Tensor<float> tensor) {
    tensors_.push_back(std::move(tensor));
    views_.push_back(tensors_.back().view());
    return views_.back();
}

MultiHeadAttentionDesc BlockWeights::attention(uint32_t seed, const std::string &mask, const std::string &position) {
    MultiHeadAttentionDesc desc;
    desc.heads = heads, desc.mask = mask, desc.position = position;
    desc.query_weight = keep(numbers(seed, {width, width}, 0.5f)), desc.query_bias = &keep(numbers(seed + 1, {width}, 0.25f));
    desc.key_weight = keep(numbers(seed + 2, {width, width}, 0.5f)), desc.key_bias = &keep(numbers(seed + 3, {width}, 0.25f));
    desc.value_weight = keep(numbers(seed + 4, {width, width}, 0.5f)), desc.value_bias = &keep(numbers(seed + 5, {width}, 0.25f));
    desc.output_weight = &keep(numbers(seed + 6, {width, width}, 0.5f)), desc.output_bias = &keep(numbers(seed + 7, {width}, 0.25f));
    return desc;
}

FeedForwardDesc BlockWeights::feed_forward(uint32_t seed, attune_activation activation) {
    FeedForwardDesc desc;
    desc.up_weight = keep(numbers(seed, {hidden, width}, 0.25f)), desc.up_bias = &keep(numbers(seed + 1, {hidden}, 0.25f));
    desc.down_weight = keep(numbers(seed + 2, {width, hidden}, 0.25f)), desc.down_bias = &keep(numbers(seed + 3, {width}, 0.25f));
    desc.activation = activation;
    return desc;
}

LayerNormDesc BlockWeights::norm(uint32_t seed) {
    const Tensor<float> weight = numbers(seed, {width}, 0.25f);
    weight.each([](float &x) { x += 1; });
    return {keep(weight), keep(numbers(seed + 1, {width}, 0.25f))};
}

EncoderBlockDesc BlockWeights::encoder(uint32_t seed, bool norm_first, const std::string &mask, const std::string &position) {
    return {attention(seed, mask, position), feed_forward(seed + 8, norm_first ? ATTUNE_GELU : ATTUNE_RELU), norm(seed + 12),
            norm(seed + 14), norm_first};
}

DecoderBlockDesc BlockWeights::decoder(uint32_t seed, bool norm_first) {
    return {attention(seed, "causal"),
            attention(seed + 8),
            feed_forward(seed + 16, norm_first ? ATTUNE_GELU : ATTUNE_RELU),
            norm(seed + 20),
            norm(seed + 22),
            norm(seed + 24),
            norm_first};
}

} // namespace attune::test
