// "Your journey starts with one step" through learned projections, from 3 channels to 2, without biases and with them.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const example::Labels words = {"Your", "journey", "starts", "with", "one", "step"};
    const float inputs[6][3] = {{0.43f, 0.15f, 0.89f}, {0.55f, 0.87f, 0.66f}, {0.57f, 0.85f, 0.64f},
                                {0.22f, 0.58f, 0.33f}, {0.77f, 0.25f, 0.10f}, {0.05f, 0.80f, 0.55f}};
    const std::vector<float> w_query = example::numbers(1, 2 * 3), w_key = example::numbers(3, 2 * 3), w_value = example::numbers(5, 2 * 3);
    const std::vector<float> b_query = example::numbers(2, 2, 0.25f), b_key = example::numbers(4, 2, 0.25f),
                             b_value = example::numbers(6, 2, 0.25f);
    const attune::TensorView query_bias(b_query.data(), {2}), key_bias(b_key.data(), {2}), value_bias(b_value.data(), {2});
    float contexts[2][6][2];

    for (bool biased : {false, true}) {
        attune::MultiHeadAttentionDesc desc; // of one head; weights are [out, in]
        desc.query_weight = {w_query.data(), {2, 3}}, desc.key_weight = {w_key.data(), {2, 3}},
        desc.value_weight = {w_value.data(), {2, 3}};
        if (biased) desc.query_bias = &query_bias, desc.key_bias = &key_bias, desc.value_bias = &value_bias;
        const auto layer = attune::MultiHeadAttention::create(desc);
        if (!layer) return example::fail(layer.status().message);
        attune::MultiHeadAttentionArgs args({inputs[0], {6, 3}}, {contexts[biased][0], {6, 2}});
        if (const attune::Status status = layer->run(args); !status) return example::fail(status.message);
        example::show(biased ? "biased" : "plain", words, {"0", "1"}, contexts[biased][0]);
    }
    const bool right =
        example::check("plain", contexts[0][0], {{-0.0804322, -0.9442418}, {-0.0847353, -0.9451028}, {-0.0841744, -0.9448215}}) &&
        example::check("biased", contexts[1][0], {{-0.0855318, -0.8122435}, {-0.0900289, -0.8133955}, {-0.0894453, -0.8130808}});
    return right ? 0 : 1;
}
