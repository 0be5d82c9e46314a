// The worked examples as attention problems.
#pragma once

#include <vector>

#include "attention_oracle.h"
#include "golden.h"

namespace attune::test::golden {

struct AttentionExample {
    const char *name;
    AttentionProblem problem;
    Matrix weights, output;
};

/** A matrix as a tensor of batch 1 and one head. */
inline Tensor<float> tensor_of(const Matrix &matrix) {
    const Tensor<float> tensor({1, 1, static_cast<int64_t>(matrix.size()), static_cast<int64_t>(matrix[0].size())});
    for (size_t i = 0; i < matrix.size(); i++)
        for (size_t d = 0; d < matrix[i].size(); d++)
            tensor(0, 0, i, d) = static_cast<float>(matrix[i][d]);
    return tensor;
}

inline std::vector<double> flat(const Matrix &matrix) {
    std::vector<double> all;
    for (const std::vector<double> &row : matrix)
        all.insert(all.end(), row.begin(), row.end());
    return all;
}

inline Matrix product(const Matrix &a, const Matrix &b) {
    Matrix c(a.size(), std::vector<double>(b[0].size(), 0));
    for (size_t i = 0; i < a.size(); i++)
        for (size_t j = 0; j < b[0].size(); j++)
            for (size_t n = 0; n < b.size(); n++)
                c[i][j] += a[i][n] * b[n][j];
    return c;
}

inline AttentionProblem problem_of(const Matrix &q, const Matrix &k, const Matrix &v) {
    AttentionProblem problem;
    problem.q = tensor_of(q), problem.k = tensor_of(k), problem.v = tensor_of(v);
    return problem;
}

inline std::vector<AttentionExample> attention_examples() {
    using namespace golden;
    const Matrix &x = three_tokens::x, &inputs = journey::inputs;
    AttentionExample three{
        "three_tokens", problem_of(product(x, three_tokens::w_query), product(x, three_tokens::w_key), product(x, three_tokens::w_value)),
        three_tokens::weights, three_tokens::output};
    AttentionExample plain{"journey", problem_of(inputs, inputs, inputs), journey::weights, journey::output};
    three.problem.scale = plain.problem.scale = 1.0f;
    AttentionExample causal{"journey_causal", problem_of(inputs, inputs, inputs), journey_causal::weights, journey_causal::output};
    AttentionExample uniform{"uniform_causal", problem_of(uniform_causal::q, uniform_causal::k, uniform_causal::v), uniform_causal::weights,
                             uniform_causal::output};
    causal.problem.mask = uniform.problem.mask = "causal";
    return {three, plain, causal, uniform};
}

} // namespace attune::test::golden
