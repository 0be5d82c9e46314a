// Attention with plain loops in float64, to check kernels against.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace example {

/** Tensors [heads, tokens, dim], contiguous. */
struct Problem {
    int64_t heads, tokens, dim;
    std::vector<float> q, k, v, out;

    /** Unit-normal q, k and v, the same ones every time; the output is NaN, so that what isn't written shows. */
    Problem(int64_t heads, int64_t tokens, int64_t dim) : heads(heads), tokens(tokens), dim(dim), q(count()), k(count()), v(count()) {
        std::mt19937 bits(1);
        std::normal_distribution<float> normal;
        for (std::vector<float> *tensor : {&q, &k, &v})
            for (float &x : *tensor)
                x = normal(bits);
        out.assign(count(), std::numeric_limits<float>::quiet_NaN());
    }
    size_t count() const { return static_cast<size_t>(heads * tokens * dim); }
};

/** Row i of head h of softmax(q k^T / sqrt(dim)) v, over the keys j with allowed(i, j); zeros where there is none. */
template <typename Allowed> std::vector<double> attention_row(const Problem &p, int64_t h, int64_t i, const Allowed &allowed) {
    const float *q = &p.q[(h * p.tokens + i) * p.dim], *k = &p.k[h * p.tokens * p.dim], *v = &p.v[h * p.tokens * p.dim];
    std::vector<double> weights(p.tokens), row(p.dim, 0);
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < p.tokens; j++) {
        if (!allowed(i, j)) continue;
        for (int64_t d = 0; d < p.dim; d++)
            weights[j] += double(q[d]) * double(k[j * p.dim + d]);
        weights[j] /= std::sqrt(double(p.dim));
        maximum = std::fmax(maximum, weights[j]);
    }
    for (int64_t j = 0; j < p.tokens; j++) {
        if (!allowed(i, j)) continue;
        const double weight = std::exp(weights[j] - maximum);
        sum += weight;
        for (int64_t d = 0; d < p.dim; d++)
            row[d] += weight * double(v[j * p.dim + d]);
    }
    for (double &x : row)
        x = sum > 0 ? x / sum : 0;
    return row;
}

/** The largest |out - float64| over every `step`th row, relative to the largest |v|; infinity if an output is NaN. */
template <typename Allowed> double largest_error(const Problem &p, const Allowed &allowed, int64_t step = 1) {
    double largest = 0, scale = 0;
    for (float x : p.v)
        scale = std::fmax(scale, std::abs(x));
    for (int64_t r = 0; r < p.heads * p.tokens; r += step) {
        const std::vector<double> right = attention_row(p, r / p.tokens, r % p.tokens, allowed);
        for (int64_t d = 0; d < p.dim; d++) {
            const double error = std::abs(p.out[r * p.dim + d] - right[d]) / scale;
            if (std::isnan(error)) return std::numeric_limits<double>::infinity();
            largest = std::fmax(largest, error);
        }
    }
    return largest;
}

} // namespace example
