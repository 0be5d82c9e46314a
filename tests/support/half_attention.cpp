#include "half_attention.h"

#include <algorithm>
#include <cmath>

#include "compare.h"

namespace attune::test {

AttentionProblem rounded_inputs(attune_type type, const AttentionProblem &problem) {
    for (const Tensor<float> &tensor : {problem.q, problem.k, problem.v})
        tensor.each([&](float &value) { value = static_cast<float>(round_to(type, value)); });
    return problem;
}

HalfRun rounded_to(attune_type type, const AttentionProblem &p, const AttentionAnswer &exact) {
    HalfRun rounded;
    const auto keys = static_cast<size_t>(p.keys()), width = static_cast<size_t>(p.value_dim());
    for (size_t row = 0; row < exact.lse.size(); row++) {
        const auto head = static_cast<int64_t>(row) / p.queries(), query_head = head % p.query_heads();
        std::vector<double> terms(keys), out(width, 0);
        double largest = p.sinks ? static_cast<double>((*p.sinks)(query_head)) : -INFINITY;
        for (size_t j = 0; j < keys; j++)
            largest = std::max(largest, terms[j] = round_to(type, exact.biased[row * keys + j] / p.temperature));
        if (largest == -INFINITY) largest = 0;
        double sum = p.sinks ? std::exp(static_cast<double>((*p.sinks)(query_head)) - largest) : 0;
        for (double &term : terms)
            sum += term = std::exp(term - largest);
        for (size_t j = 0; j < keys; j++) {
            const double kept = exact.dropped[row * keys + j] ? 0 : 1 / (1.0 - p.dropout);
            const double weight = sum > 0 ? round_to(type, terms[j] / sum) * kept : 0;
            const Tensor<float> &v = p.v;
            const float *value = &v(head / p.query_heads(), query_head / (p.query_heads() / p.key_heads()), j, 0);
            rounded.weights.push_back(weight);
            for (size_t d = 0; d < width; d++)
                out[d] += weight * value[d * v.stride[3]];
        }
        for (double value : out)
            rounded.out.push_back(round_to(type, value));
        rounded.lse.push_back(largest + std::log(sum));
    }
    return rounded;
}

void expect_accurate(attune_type type, const AttentionProblem &p, const HalfRun &got, double factor) {
    const AttentionAnswer exact = attention_in_double(p);
    const HalfRun rounded = rounded_to(type, p, exact);
    const double largest_v = largest_magnitude(to_double(p.v));
    const auto limit = [&](const std::vector<double> &a, const std::vector<double> &b, double magnitude) {
        return Tolerance{factor * largest_error(a, b) + half_ulp(type, magnitude)};
    };
    EXPECT_TRUE(agrees(got.out, exact.out, limit(rounded.out, exact.out, largest_v))) << "out";
    EXPECT_TRUE(agrees(got.lse, exact.lse, limit(rounded.lse, exact.lse, 1), 0)) << "lse";
    if (got.weights.empty()) return;
    EXPECT_TRUE(agrees(got.weights, exact.weights, limit(rounded.weights, exact.weights, 0.5))) << "weights";
}

void spoil_key(const AttentionProblem &p, int64_t item, int64_t key, float value) {
    for (int64_t h = 0; h < p.key_heads(); h++) {
        for (int64_t d = 0; d < p.dim(); d++)
            p.k(item, h, key, d) = value;
        for (int64_t d = 0; d < p.value_dim(); d++)
            p.v(item, h, key, d) = value;
    }
}

void expect_padding_changes_no_bit(AttentionProblem p, const std::function<HalfRun(const AttentionProblem &)> &run) {
    for (const std::vector<int64_t> &lengths : {std::vector<int64_t>{40, 0}, {97, 41}}) {
        p.key_lengths = lengths;
        const HalfRun clean = run(p);
        ASSERT_TRUE(clean.status.ok()) << clean.status.message;
        for (float value : {NAN, INFINITY, -INFINITY}) {
            AttentionProblem spoilt = p;
            spoilt.k = p.k.clone(), spoilt.v = p.v.clone();
            for (int64_t b = 0; b < 2; b++)
                for (int64_t j = lengths[b]; j < 97; j++)
                    spoil_key(spoilt, b, j, value);
            const HalfRun got = run(spoilt);
            EXPECT_EQ(got.out, clean.out) << value;
            EXPECT_EQ(got.lse, clean.lse) << value;
        }
    }
}

} // namespace attune::test
