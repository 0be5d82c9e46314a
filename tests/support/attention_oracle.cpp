#include "attention_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "compare.h"
#include "mask_text.h"

namespace attune::test {
namespace {

/** Where query row i of one (batch, head) may attend, as far as numbers other than the scores settle it. */
class Cells {
public:
    Cells(const AttentionProblem &problem, int64_t b, int64_t h) : problem_(problem), b_(b), h_(h) {
        std::optional<int64_t> offset = problem.offset;
        if (!problem.offsets.empty()) offset = problem.offsets[b];
        text_ = mask_from_text(problem.mask, problem.queries(), problem.keys(), offset);
        if (problem.boolean_mask) boolean_ = problem.boolean_mask->broadcast(full());
        if (problem.bias) bias_ = problem.bias->broadcast(full());
    }
    bool attended(int64_t i, int64_t j) const {
        if (!text_(i, j)) return false;
        if (!problem_.key_lengths.empty() && j >= problem_.key_lengths[b_]) return false;
        if (problem_.boolean_mask && boolean_(b_, h_, i, j) == 0) return false;
        return bias(i, j) != -std::numeric_limits<float>::infinity();
    }
    float bias(int64_t i, int64_t j) const { return problem_.bias ? bias_(b_, h_, i, j) : 0.0f; }

private:
    Extents full() const { return {problem_.batch(), problem_.query_heads(), problem_.queries(), problem_.keys()}; }

    const AttentionProblem &problem_;
    const int64_t b_, h_;
    CellPredicate text_;
    Tensor<uint8_t> boolean_;
    Tensor<float> bias_;
};

/** The order in which sums run: 0 ... n - 1, or a permutation of its own for each number from 1. */
std::vector<int64_t> sum_order(int64_t n, int order) {
    std::vector<int64_t> places(n);
    std::iota(places.begin(), places.end(), 0);
    if (order > 0) std::shuffle(places.begin(), places.end(), std::mt19937_64(order));
    return places;
}

template <typename Real>
Real score(const AttentionProblem &p, const std::vector<int64_t> &dims, int64_t b, int64_t h, int64_t i, int64_t j, float bias) {
    const int64_t key_head = h / (p.query_heads() / p.key_heads());
    const float *q = &p.q(b, h, i, 0), *k = &p.k(b, key_head, j, 0);
    Real dot = 0;
    for (int64_t d : dims)
        dot += static_cast<Real>(q[d]) * static_cast<Real>(k[d]);
    const Real scale = p.scale ? static_cast<Real>(*p.scale) : 1 / std::sqrt(static_cast<Real>(p.dim()));
    Real s = scale * dot;
    if (p.softcap != 0) s = static_cast<Real>(p.softcap) * std::tanh(s / static_cast<Real>(p.softcap));
    if (p.bias) s += static_cast<Real>(bias);
    return s / static_cast<Real>(p.temperature);
}

/** The larger of two, NaN if either is. */
template <typename Real> Real greater(Real a, Real b) { return std::isnan(a) || a > b ? a : b; }

/** One query's row: `keys` in the order its sums run. */
template <typename Real> void append_row(AttentionAnswer &answer, const AttentionProblem &p, const std::vector<int64_t> &keys,
                                         const std::vector<Real> &scores, int64_t b, int64_t h) {
    Real largest = -std::numeric_limits<Real>::infinity(), sum = 0;
    for (Real s : scores)
        largest = greater(s, largest);
    for (Real s : scores)
        sum += std::exp(s - largest);
    std::vector<Real> weights(p.keys(), 0), out(p.value_dim(), 0);
    std::vector<bool> masked(p.keys(), true);
    for (size_t n = 0; n < keys.size(); n++) {
        const Real weight = weights[keys[n]] = std::exp(scores[n] - largest) / sum;
        masked[keys[n]] = false;
        const float *v = &p.v(b, h / (p.query_heads() / p.key_heads()), keys[n], 0);
        for (size_t d = 0; d < out.size(); d++)
            out[d] += weight * static_cast<Real>(v[d]);
    }
    answer.out.insert(answer.out.end(), out.begin(), out.end());
    answer.weights.insert(answer.weights.end(), weights.begin(), weights.end());
    answer.masked.insert(answer.masked.end(), masked.begin(), masked.end());
    answer.lse.push_back(keys.empty() ? -std::numeric_limits<double>::infinity() : static_cast<Real>(largest + std::log(sum)));
    answer.attends_nothing.push_back(keys.empty());
}

template <typename Real> AttentionAnswer attention_in(const AttentionProblem &p, int order) {
    AttentionAnswer answer;
    const std::vector<int64_t> dims = sum_order(p.dim(), order), key_order = sum_order(p.keys(), order);
    std::vector<int64_t> keys;
    std::vector<Real> scores;
    for (int64_t b = 0; b < p.batch(); b++)
        for (int64_t h = 0; h < p.query_heads(); h++) {
            const Cells cells(p, b, h);
            for (int64_t i = 0; i < p.queries(); i++) {
                keys.clear(), scores.clear();
                for (int64_t j : key_order)
                    if (cells.attended(i, j)) keys.push_back(j), scores.push_back(score<Real>(p, dims, b, h, i, j, cells.bias(i, j)));
                append_row(answer, p, keys, scores, b, h);
            }
        }
    return answer;
}

} // namespace

AttentionProblem normal_problem(const AttentionShape &shape, Random &random, const Layout &layout) {
    AttentionProblem problem;
    problem.q = Tensor<float>({shape.batch, shape.query_heads, shape.queries, shape.dim}, layout);
    problem.k = Tensor<float>({shape.batch, shape.key_heads, shape.keys, shape.dim}, layout);
    problem.v = Tensor<float>({shape.batch, shape.key_heads, shape.keys, shape.value_dim}, layout);
    for (const Tensor<float> &tensor : {problem.q, problem.k, problem.v})
        random.fill_normal(tensor);
    return problem;
}

AttentionProblem batch_item(const AttentionProblem &problem, int64_t item) {
    AttentionProblem one = problem;
    one.q = problem.q.item(item), one.k = problem.k.item(item), one.v = problem.v.item(item);
    if (!problem.offsets.empty()) one.offsets = {problem.offsets[item]};
    if (!problem.key_lengths.empty()) one.key_lengths = {problem.key_lengths[item]};
    if (problem.boolean_mask && problem.boolean_mask->extent[0] > 1) one.boolean_mask = problem.boolean_mask->item(item);
    if (problem.bias && problem.bias->extent[0] > 1) one.bias = problem.bias->item(item);
    return one;
}

AttentionAnswer attention_in_double(const AttentionProblem &problem) { return attention_in<double>(problem, 0); }
AttentionAnswer attention_in_float(const AttentionProblem &problem, int order) { return attention_in<float>(problem, order); }

RoundingError rounding_error(const AttentionProblem &problem, const AttentionAnswer &exact) {
    constexpr int orders = 8;
    RoundingError error;
    for (int order = 0; order < orders; order++) {
        const AttentionAnswer rounded = attention_in_float(problem, order);
        error.out = std::max(error.out, largest_error(rounded.out, exact.out));
        error.lse = std::max(error.lse, largest_error(rounded.lse, exact.lse));
        error.weights = std::max(error.weights, largest_error(rounded.weights, exact.weights));
    }
    return error;
}

} // namespace attune::test
