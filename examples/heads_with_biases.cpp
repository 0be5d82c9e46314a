// Layers with all their biases: one head on [1, 4, 6], and two heads on [1, 5, 4].
#include <attune/attune.hpp>

#include "example.h"

namespace {

/** Runs a layer of `width` channels on `tokens` tokens of numbers(seed), prints weights and outputs, and checks the first output. */
bool run(int heads, int tokens, int width, uint32_t seed, const example::Rows &expected) {
    std::vector<float> w[4], b[4], x = example::numbers(seed, tokens * width), out(tokens * width), weights(heads * tokens * tokens);
    attune::TensorView weight[4], bias[4];
    for (uint32_t i = 0; i < 4; i++) {
        w[i] = example::numbers(2 * i + 1, width * width), weight[i] = {w[i].data(), {width, width}};
        b[i] = example::numbers(2 * i + 2, width, 0.25f), bias[i] = {b[i].data(), {width}};
    }
    attune::MultiHeadAttentionDesc desc;
    desc.heads = heads, desc.query_weight = weight[0], desc.key_weight = weight[1], desc.value_weight = weight[2];
    desc.query_bias = &bias[0], desc.key_bias = &bias[1], desc.value_bias = &bias[2];
    desc.output_weight = &weight[3], desc.output_bias = &bias[3];
    const auto layer = attune::MultiHeadAttention::create(desc);
    const attune::TensorView weights_view(weights.data(), {1, heads, tokens, tokens});
    attune::MultiHeadAttentionArgs args({x.data(), {1, tokens, width}}, {out.data(), {1, tokens, width}});
    args.attention.weights = &weights_view;
    const attune::Status status = layer ? layer->run(args) : layer.status();
    if (!status) return example::fail(status.message) == 0;
    for (int h = 0; h < heads; h++)
        example::show("head " + std::to_string(h), example::numbered(tokens), example::numbered(tokens), &weights[h * tokens * tokens]);
    example::show("outputs", example::numbered(tokens), example::numbered(width), out.data());
    return example::check("outputs", out.data(), expected);
}

} // namespace

int main() {
    const bool right = run(1, 4, 6, 106, {{0.3041873, -0.1200028, -0.2757325, 0.3605473, -0.0046739, 0.0542724}}) &&
                       run(2, 5, 4, 107, {{-0.5599450, 0.4125557, 0.0789726, 0.5005184}});
    return right ? 0 : 1;
}
