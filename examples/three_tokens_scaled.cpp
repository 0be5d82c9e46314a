// Self-attention on three tokens: queries, keys and values are projections of the inputs; scores scaled by 1 / sqrt(3) before the softmax,
// no mask.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const float x[3][4] = {{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}};
    const float w_query[4][3] = {{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}};
    const float w_key[4][3] = {{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}};
    const float w_value[4][3] = {{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}};
    float out[3][3], weights[3][3];

    // Layers take weights as [out, in]: x w is read through strides.
    const auto transposed = [](const float(&w)[4][3]) { return attune::TensorView(w[0], {3, 4}, {1, 3}); };
    attune::MultiHeadAttentionDesc desc; // of one head
    desc.query_weight = transposed(w_query), desc.key_weight = transposed(w_key), desc.value_weight = transposed(w_value);
    const auto layer = attune::MultiHeadAttention::create(desc);
    if (!layer) return example::fail(layer.status().message);

    const attune::TensorView weights_view(weights[0], {1, 1, 3, 3});
    attune::MultiHeadAttentionArgs args({x[0], {3, 4}}, {out[0], {3, 3}});
    args.attention.weights = &weights_view;
    if (const attune::Status status = layer->run(args); !status) return example::fail(status.message);

    example::show("weights", {"query 0", "query 1", "query 2"}, {"key 0", "key 1", "key 2"}, weights[0]);
    example::show("outputs", {"token 0", "token 1", "token 2"}, {"0", "1", "2"}, out[0]);
    const bool right =
        example::check("weights", weights[0],
                       {{0.1361258, 0.4319371, 0.4319371}, {0.0008904, 0.9088426, 0.0902669}, {0.0074449, 0.7547076, 0.2378475}}) &&
        example::check("outputs", out[0],
                       {{1.8638742, 6.3193712, 1.7041887}, {1.9991095, 7.8141236, 0.2734721}, {1.9925551, 7.4796357, 0.7358773}});
    return right ? 0 : 1;
}
