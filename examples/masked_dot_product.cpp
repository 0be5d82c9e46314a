// Scaled dot-product attention of 4 queries on 7 keys, 8 channels wide, values 5 wide: a mask in both polarities.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const std::vector<float> q = example::numbers(101, 4 * 8), k = example::numbers(102, 7 * 8), v = example::numbers(103, 7 * 5);
    const std::vector<float> dice = example::numbers(104, 4 * 7);
    bool attends[4 * 7], blocked[4 * 7];
    for (int i = 0; i < 4 * 7; i++)
        attends[i] = i % 7 == 0 || dice[i] > -1.0 / 3, blocked[i] = !attends[i];

    attune::MultiHeadAttentionDesc desc; // without projections: queries, keys and values as they are
    desc.head_dim = 8, desc.value_dim = 5;
    const auto layer = attune::MultiHeadAttention::create(desc);
    if (!layer) return example::fail(layer.status().message);

    const attune::TensorView key(k.data(), {7, 8}), value(v.data(), {7, 5}), masks[] = {{attends, {4, 7}}, {blocked, {4, 7}}};
    bool right = true;
    for (const attune_mask_polarity polarity : {ATTUNE_TRUE_ATTENDS, ATTUNE_TRUE_MASKS}) {
        float result[4][5], weights[4][7];
        const attune::TensorView weights_view(weights[0], {1, 1, 4, 7});
        attune::MultiHeadAttentionArgs args({q.data(), {4, 8}}, {result[0], {4, 5}});
        args.key = &key, args.value = &value, args.attention.weights = &weights_view;
        args.mask = polarity == ATTUNE_TRUE_ATTENDS ? &masks[0] : &masks[1], args.polarity = polarity;
        if (const attune::Status status = layer->run(args); !status) return example::fail(status.message);
        const example::Labels queries = {"query 0", "query 1", "query 2", "query 3"};
        example::show("weights", queries, {"key 0", "key 1", "key 2", "key 3", "key 4", "key 5", "key 6"}, weights[0]);
        example::show("result", queries, {"0", "1", "2", "3", "4"}, result[0]);
        right &= example::check(
            "result", result[0],
            {{-0.2128608, 0.0839889, -0.4712978, -0.0116224, 0.0900873}, {-0.2138228, 0.1271884, -0.5089568, -0.0294575, 0.0386471}});
    }
    return right ? 0 : 1;
}
