// Multi-head attention from 16 channels to 32, [2, 5, 16] to [2, 5, 32], by 2 heads and by 4.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const std::vector<float> x = example::numbers(100, 2 * 5 * 16), w_query = example::numbers(1, 32 * 16, 0.5f),
                             w_key = example::numbers(3, 32 * 16, 0.5f), w_value = example::numbers(5, 32 * 16, 0.5f),
                             w_output = example::numbers(7, 32 * 32, 0.5f), b_output = example::numbers(8, 32, 0.25f);
    const attune::TensorView output_weight(w_output.data(), {32, 32}), output_bias(b_output.data(), {32});
    const example::Labels tokens = {"token 0", "token 1", "token 2", "token 3", "token 4"};
    bool right = true;
    for (int heads : {2, 4}) {
        attune::MultiHeadAttentionDesc desc;
        desc.heads = heads, desc.output_weight = &output_weight, desc.output_bias = &output_bias;
        desc.query_weight = {w_query.data(), {32, 16}}, desc.key_weight = {w_key.data(), {32, 16}};
        desc.value_weight = {w_value.data(), {32, 16}};
        const auto layer = attune::MultiHeadAttention::create(desc);
        if (!layer) return example::fail(layer.status().message);

        std::vector<float> out(2 * 5 * 32), weights(2 * heads * 5 * 5);
        const attune::TensorView weights_view(weights.data(), {2, heads, 5, 5});
        attune::MultiHeadAttentionArgs args({x.data(), {2, 5, 16}}, {out.data(), {2, 5, 32}});
        args.attention.weights = &weights_view;
        if (const attune::Status status = layer->run(args); !status) return example::fail(status.message);
        for (int h = 0; h < heads; h++)
            example::show("head " + std::to_string(h), tokens, tokens, &weights[h * 5 * 5]);
        example::show("outputs", tokens, {"0", "1", "2", "3"}, out.data(), 32);
        right &= example::check("outputs", out.data(),
                                heads == 2 ? example::Rows{{-0.8909782, 0.0746405, -1.1963215, -0.2448026}}
                                           : example::Rows{{-1.1442485, 0.1084330, -1.3360864, -0.0664002}});
    }
    return right ? 0 : 1;
}
