#include "mha_golden.h"

namespace attune::test {

std::optional<MultiHeadAttention> make_layer(const MhaWeights &w, MultiHeadAttentionDesc desc) {
    const int64_t kv_width = w.kv_width ? w.kv_width : w.width;
    const auto weight = [&](uint32_t place, int64_t out, int64_t in) { return numbers(w.seed + place, {out, in}, w.scale); };
    const Tensor<float> weights[] = {weight(0, w.width, w.d_in), weight(2, kv_width, w.kdim ? w.kdim : w.d_in),
                                     weight(4, kv_width, w.vdim ? w.vdim : w.d_in), weight(6, w.width, w.width)};
    const Tensor<float> biases[] = {numbers(w.seed + 1, {w.width}, 0.25f), numbers(w.seed + 3, {kv_width}, 0.25f),
                                    numbers(w.seed + 5, {kv_width}, 0.25f), numbers(w.seed + 7, {w.width}, 0.25f)};
    const TensorView output = weights[3].view(), bias[] = {biases[0].view(), biases[1].view(), biases[2].view(), biases[3].view()};
    desc.heads = w.heads, desc.kv_heads = w.kv_heads;
    desc.query_weight = weights[0].view(), desc.key_weight = weights[1].view(), desc.value_weight = weights[2].view();
    if (w.bias) desc.query_bias = &bias[0], desc.key_bias = &bias[1], desc.value_bias = &bias[2];
    if (w.output) desc.output_weight = &output, desc.output_bias = &bias[3];
    Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
    EXPECT_TRUE(layer.ok()) << layer.status().message;
    return layer.ok() ? std::optional<MultiHeadAttention>(std::move(layer).value()) : std::nullopt;
}

void expect_golden(const MhaResult &result, const std::string &name, bool with_weights) {
    ASSERT_TRUE(result.status.ok()) << name << ": " << result.status.message;
    const std::vector<double> out = golden_file(name + "/out", result.out.extent);
    EXPECT_TRUE(agrees(to_double(result.out), out, {golden_tolerance.absolute * std::max(1.0, largest_magnitude(out))})) << name;
    if (!with_weights) return;
    const std::vector<double> weights = golden_file(name + "/weights", result.weights.extent);
    EXPECT_TRUE(agrees(to_double(result.weights), weights, golden_tolerance)) << name << ", weights";
}

} // namespace attune::test
