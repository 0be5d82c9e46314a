// Self-attention on three tokens: queries, keys and values are projections of the inputs; scale 1, no mask.
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
    args.attention.has_scale = 1, args.attention.scale = 1; // instead of 1 / sqrt(3)
    if (const attune::Status status = layer->run(args); !status) return example::fail(status.message);

    example::show("weights", {"query 0", "query 1", "query 2"}, {"key 0", "key 1", "key 2"}, weights[0]);
    example::show("outputs", {"token 0", "token 1", "token 2"}, {"0", "1", "2"}, out[0]);
    const bool right =
        example::check("weights", weights[0],
                       {{0.0633789, 0.4683105, 0.4683105}, {0.0000060, 0.9820079, 0.0179861}, {0.0002954, 0.8805369, 0.1191677}}) &&
        example::check("outputs", out[0],
                       {{1.9366211, 6.6831055, 1.5950685}, {1.9999939, 7.9639916, 0.0539764}, {1.9997046, 7.7598925, 0.3583893}});
    return right ? 0 : 1;
}
