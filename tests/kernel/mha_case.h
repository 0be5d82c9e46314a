// A multi-head layer, and the same made of oracles.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "attention_oracle.h"
#include "attune/attune.hpp"
#include "compare.h"
#include "linear_oracle.h"
#include "random.h"

namespace attune::test {

/** Widths, weights and inputs of a layer; B 2, N 5, M 7. */
struct MhaCase {
    int64_t heads = 4, kv_heads = 2, dim = 6, value_dim = 5, d_out = 9;
    Tensor<float> query{{2, 5, 11}}, key{{2, 7, 8}}, value{{2, 7, 3}};
    Tensor<float> weight[4], bias[4];
    std::string mask = "none", position = "none";

    explicit MhaCase(Random &random) {
        for (const Tensor<float> *x : {&query, &key, &value})
            random.fill_normal(*x);
        const int64_t in[] = {11, 8, 3, heads * value_dim}, out[] = {heads * dim, kv_heads * dim, kv_heads * value_dim, d_out};
        for (int i = 0; i < 4; i++) {
            weight[i] = Tensor<float>({out[i], in[i]}), bias[i] = Tensor<float>({out[i]});
            random.fill_normal(weight[i], 1 / std::sqrt(double(in[i]))), random.fill_normal(bias[i], 0.3);
        }
    }
    Result<MultiHeadAttention> make(attune_type dtype = ATTUNE_F32) const {
        const TensorView output = weight[3].view(), biases[] = {bias[0].view(), bias[1].view(), bias[2].view(), bias[3].view()};
        MultiHeadAttentionDesc desc;
        desc.dtype = dtype, desc.heads = heads, desc.kv_heads = kv_heads;
        desc.query_weight = weight[0].view(), desc.key_weight = weight[1].view(), desc.value_weight = weight[2].view();
        desc.query_bias = &biases[0], desc.key_bias = &biases[1], desc.value_bias = &biases[2];
        desc.output_weight = &output, desc.output_bias = &biases[3], desc.mask = mask, desc.position = position;
        return MultiHeadAttention::create(desc);
    }

    std::vector<double> projected(int i, const std::vector<double> &x) const {
        LinearProblem p;
        p.out = weight[i].extent[0], p.in = weight[i].extent[1], p.rows = static_cast<int64_t>(x.size()) / p.in;
        p.x = x, p.weight = to_double(weight[i]), p.bias = to_double(bias[i]);
        return linear_in_double(p);
    }
    /** A projection as attention's oracle takes it: [B, heads, tokens, width]. */
    Tensor<float> heads_of(int i, const Tensor<float> &x, int64_t count) const {
        const std::vector<double> y = projected(i, to_double(x));
        const int64_t width = weight[i].extent[0] / count;
        const Tensor<float> split({x.extent[0], count, x.extent[1], width});
        for (int64_t row = 0; row < x.extent[0] * x.extent[1]; row++)
            for (int64_t c = 0; c < count * width; c++)
                split(row / x.extent[1], c / width, row % x.extent[1], c % width) = static_cast<float>(y[row * count * width + c]);
        return split;
    }
    AttentionProblem problem() const {
        AttentionProblem p;
        p.q = heads_of(0, query, heads), p.k = heads_of(1, key, kv_heads), p.v = heads_of(2, value, kv_heads), p.mask = mask;
        return p;
    }
    /** The layer's result, [B, N, d_out], of what attention gives. */
    std::vector<double> output(const AttentionAnswer &answer) const {
        const int64_t n = query.extent[1];
        std::vector<double> tokens;
        for (int64_t row = 0; row < query.extent[0] * n; row++)
            for (int64_t c = 0; c < heads * value_dim; c++)
                tokens.push_back(answer.out[((row / n * heads + c / value_dim) * n + row % n) * value_dim + c % value_dim]);
        return projected(3, tokens);
    }
};

class Mha : public SeededTest {
protected:
    template <typename Adjust> Tensor<float> run(const MhaCase &c, Adjust adjust, attune_call *call = nullptr) {
        const Tensor<float> out({2, c.query.extent[1], c.d_out});
        const TensorView key = c.key.view(), value = c.value.view();
        MultiHeadAttentionArgs args(c.query.view(), out.view());
        args.key = &key, args.value = &value;
        adjust(args);
        const Result<MultiHeadAttention> layer = c.make();
        EXPECT_TRUE(layer.ok()) << layer.status().message;
        const Status status = layer.value().run(args, call);
        EXPECT_TRUE(status.ok()) << status.message;
        return out;
    }
    Tensor<float> run(const MhaCase &c) {
        return run(c, [](MultiHeadAttentionArgs &) {});
    }
    void expect_right(const MhaCase &c, const AttentionProblem &p, const Tensor<float> &got) {
        EXPECT_TRUE(agrees(to_double(got), c.output(attention_in_double(p)), {4e-6}));
    }
};

} // namespace attune::test
