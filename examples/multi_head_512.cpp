// Multi-head attention as in the paper: width 512, 8 heads, a batch of 2, 10 tokens; weights [2, 8, 10, 10].
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const std::vector<float> x = example::numbers(105, 2 * 10 * 512);
    std::vector<std::vector<float>> numbers; // weights and biases of queries, keys, values and outputs
    for (uint32_t seed = 1; seed <= 8; seed++)
        numbers.push_back(seed % 2 ? example::numbers(seed, 512 * 512, 0.0625f) : example::numbers(seed, 512, 0.25f));
    const auto weight = [&](int i) { return attune::TensorView(numbers[2 * i].data(), {512, 512}); };
    const auto bias = [&](int i) { return attune::TensorView(numbers[2 * i + 1].data(), {512}); };
    const attune::TensorView output = weight(3), biases[] = {bias(0), bias(1), bias(2), bias(3)};
    attune::MultiHeadAttentionDesc desc;
    desc.heads = 8, desc.query_weight = weight(0), desc.key_weight = weight(1), desc.value_weight = weight(2);
    desc.query_bias = &biases[0], desc.key_bias = &biases[1], desc.value_bias = &biases[2];
    desc.output_weight = &output, desc.output_bias = &biases[3];
    const auto layer = attune::MultiHeadAttention::create(desc);
    if (!layer) return example::fail(layer.status().message);

    std::vector<float> out(2 * 10 * 512), weights(2 * 8 * 10 * 10);
    const attune::TensorView weights_view(weights.data(), {2, 8, 10, 10});
    attune::MultiHeadAttentionArgs args({x.data(), {2, 10, 512}}, {out.data(), {2, 10, 512}});
    args.attention.weights = &weights_view;
    if (const attune::Status status = layer->run(args); !status) return example::fail(status.message);

    const example::Labels tokens = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    example::show("head 0", tokens, tokens, weights.data());
    example::show("outputs", tokens, {"0", "1", "2", "3"}, out.data(), 512);
    const bool right =
        example::check("weights", weights.data(),
                       {{0.0909500, 0.0956184, 0.0830300, 0.0871968, 0.0689251, 0.1159570, 0.1209209, 0.1272566, 0.0996319, 0.1105133}}) &&
        example::check("outputs", out.data(), {{0.1627755, -0.1774040, -0.2338368, -0.0788476}});
    return right ? 0 : 1;
}
