// Causal attention of two sentences, [2, 6, 3] to [2, 6, 1024]: with and without dropout, and on less than the context length.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const example::Labels words = {"Your", "journey", "starts", "with", "one", "step"};
    const float inputs[6][3] = {{0.43f, 0.15f, 0.89f}, {0.55f, 0.87f, 0.66f}, {0.57f, 0.85f, 0.64f},
                                {0.22f, 0.58f, 0.33f}, {0.77f, 0.25f, 0.10f}, {0.05f, 0.80f, 0.55f}};
    float batch[2][6][3]; // the sentence, and the same backwards
    for (int i = 0; i < 6; i++)
        for (int d = 0; d < 3; d++)
            batch[0][i][d] = batch[1][5 - i][d] = inputs[i][d];
    const std::vector<float> w_query = example::numbers(1, 1024 * 3), w_key = example::numbers(3, 1024 * 3),
                             w_value = example::numbers(5, 1024 * 3);
    attune::MultiHeadAttentionDesc desc;
    desc.query_weight = {w_query.data(), {1024, 3}}, desc.key_weight = {w_key.data(), {1024, 3}};
    desc.value_weight = {w_value.data(), {1024, 3}}, desc.mask = "causal", desc.context_length = 6;
    const auto layer = attune::MultiHeadAttention::create(desc);
    if (!layer) return example::fail(layer.status().message);

    bool right = true;
    for (int tokens : {6, 4})
        for (float dropout : {0.0f, 0.5f}) {
            std::vector<float> out(2 * tokens * 1024), weights(2 * tokens * tokens);
            const attune::TensorView weights_view(weights.data(), {2, 1, tokens, tokens});
            attune::MultiHeadAttentionArgs args({batch[0][0], {2, tokens, 3}, {18, 3, 1}}, {out.data(), {2, tokens, 1024}});
            args.attention.dropout = dropout, args.attention.seed = 123, args.attention.weights = &weights_view;
            if (const attune::Status status = layer->run(args); !status) return example::fail(status.message);
            const example::Labels labels(words.begin(), words.begin() + tokens);
            example::show(dropout > 0 ? "dropout" : "weights", labels, labels, weights.data());
            if (dropout == 0) right &= example::check("first channels", out.data(), {{-0.2078439, -1.1512345, -0.7277396, -0.5027980}});
        }
    return right ? 0 : 1;
}
