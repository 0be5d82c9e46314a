// A multi-head layer with make.py's weights, and its runs.
#pragma once

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "attune/attune.hpp"
#include "compare.h"
#include "files.h"

namespace attune::test {

constexpr Tolerance golden_tolerance{4e-6};

/** What make.py's multi_head() and set_attention() are given. */
struct MhaWeights {
    int64_t d_in = 0, kdim = 0, vdim = 0; // 0: as d_in
    int64_t width = 0;                    // of queries, keys and values, of all heads
    int64_t kv_width = 0;                 // of keys and values; 0: as width
    int64_t heads = 1, kv_heads = 0;
    bool bias = false, output = true;
    float scale = 1;
    uint32_t seed = 1;
};

struct MhaResult {
    Status status;
    Tensor<float> out, weights;
};

/** The layer of those weights. Fails the test, and gives nothing, where it can't be made. */
std::optional<MultiHeadAttention> make_layer(const MhaWeights &weights, MultiHeadAttentionDesc desc = {});

/** Runs it on query [B, N, d_in] with M keys, after `adjust` has seen the arguments. Weights are asked for. */
template <typename Adjust>
MhaResult run_layer(const MultiHeadAttention &layer, const Tensor<float> &query, int64_t heads, int64_t keys, Adjust adjust) {
    const int64_t batch = query.extent[0], tokens = query.extent[1];
    MhaResult result{{}, Tensor<float>({batch, tokens, layer.out()}), Tensor<float>({batch, heads, tokens, keys})};
    const TensorView weights = result.weights.view();
    MultiHeadAttentionArgs args(query.view(), result.out.view());
    args.attention.weights = &weights;
    adjust(args);
    result.status = layer.run(args);
    return result;
}
inline MhaResult run_layer(const MultiHeadAttention &layer, const Tensor<float> &query, int64_t heads) {
    return run_layer(layer, query, heads, query.extent[1], [](MultiHeadAttentionArgs &) {});
}

/** Both are the case's files. */
void expect_golden(const MhaResult &result, const std::string &name, bool with_weights = true);

} // namespace attune::test
