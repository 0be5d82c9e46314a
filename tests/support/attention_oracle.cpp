#include "attention_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "attention_cells.h"
#include "compare.h"
#include "philox.h"
#include "relative_oracle.h"

namespace attune::test {
namespace {

/** The order in which sums run: 0 ... n - 1, or a permutation of its own for each number from 1. */
std::vector<int64_t> sum_order(int64_t n, int order) {
    std::vector<int64_t> places(n);
    std::iota(places.begin(), places.end(), 0);
    if (order > 0) std::shuffle(places.begin(), places.end(), std::mt19937_64(order));
    return places;
}

/** q and k of one (batch, head), with their positions, as Real holds them; of k a row for each dimension. */
template <typename Real> struct Rows {
    std::vector<std::vector<Real>> q, k;

    Rows(const AttentionProblem &p, int64_t b, int64_t h) : k(p.dim(), std::vector<Real>(p.keys())) {
        for (int64_t i = 0; i < p.queries(); i++)
            q.push_back(positioned_row<Real>(p, true, b, h, i));
        for (int64_t j = 0; j < p.keys(); j++) {
            const std::vector<Real> key = positioned_row<Real>(p, false, b, h / (p.query_heads() / p.key_heads()), j);
            for (int64_t d = 0; d < p.dim(); d++)
                k[d][j] = key[d];
        }
    }

    /** Products of one query with every key. Each sum runs in the order of `dims`; keys are the inner loop, for vectors. */
    std::vector<Real> dots(int64_t i, const std::vector<int64_t> &dims) const {
        std::vector<Real> sums(k.empty() ? 0 : k[0].size(), 0);
        for (int64_t d : dims) {
            const Real factor = q[i][d], *keys = k[d].data();
            for (size_t j = 0; j < sums.size(); j++)
                sums[j] += factor * keys[j];
        }
        return sums;
    }
};

/** What the cells of one (batch, head) add to their scores. */
template <typename Real> class Biases {
public:
    Biases(const AttentionProblem &p, const Cells &cells, int64_t h)
        : p_(p), cells_(cells), slope_(p.alibi ? slopes_in_double(p.query_heads())[h] : 0) {
        if (!p.t5) return;
        const T5 t5 = {p.t5->table.extent[0], p.t5->max_distance, p.t5->bidirectional};
        for (int64_t apart = 1 - p.queries(); apart < p.keys(); apart++)
            t5_.push_back(static_cast<Real>(p.t5->table(t5_bucket_in_integers(cells.relative(0, apart), t5), h)));
    }

    Real added(int64_t i, int64_t j, Real s) const {
        if (p_.alibi) s -= static_cast<Real>(slope_ * std::abs(static_cast<double>(cells_.relative(i, j))));
        if (p_.t5) s += t5_[j - i + p_.queries() - 1];
        if (p_.bias) s += static_cast<Real>(cells_.bias(i, j));
        return s;
    }

private:
    const AttentionProblem &p_;
    const Cells &cells_;
    const double slope_;
    std::vector<Real> t5_; // by the distance from query to key: as many buckets as diagonals
};

/** One row of scores in its stages, of all keys. */
template <typename Real> struct Row {
    std::vector<Real> scaled, capped, biased, entering;

    Row(const AttentionProblem &p, const Cells &cells, const Biases<Real> &biases, std::vector<Real> dots, int64_t i)
        : scaled(std::move(dots)) {
        const Real scale = p.scale ? static_cast<Real>(*p.scale) : 1 / std::sqrt(static_cast<Real>(p.dim()));
        for (Real &s : scaled)
            s *= scale;
        const Real cap = static_cast<Real>(p.softcap);
        capped = scaled;
        if (cap != 0)
            for (Real &s : capped)
                s = cap * std::tanh(s / cap);
        for (int64_t j = 0; j < p.keys(); j++) {
            biased.push_back(cells.attended(i, j) ? biases.added(i, j, capped[j]) : -std::numeric_limits<Real>::infinity());
            entering.push_back(biased.back() / static_cast<Real>(p.temperature));
        }
    }
};

/** The larger of two, NaN if either is. */
template <typename Real> Real greater(Real a, Real b) { return std::isnan(a) || a > b ? a : b; }

/** Where a row's results go. */
struct Place {
    int64_t b, h, i;
};

/** Softmax of one row over the attended `keys`, in the order its sums run, with the sink, and dropout of its weights. */
template <typename Real> std::vector<Real> weigh(AttentionAnswer &answer, const AttentionProblem &p, const std::vector<int64_t> &keys,
                                                 const Row<Real> &row, const Place &at) {
    constexpr Real nothing = -std::numeric_limits<Real>::infinity();
    const Real sink = p.sinks ? static_cast<Real>((*p.sinks)(at.h)) : nothing;
    Real largest = sink, sum = 0;
    for (int64_t j : keys)
        largest = greater(row.entering[j], largest);
    if (p.sinks && sink != nothing) sum += std::exp(sink - largest);
    std::vector<Real> weights(p.keys(), 0);
    for (int64_t j : keys)
        sum += weights[j] = std::exp(row.entering[j] - largest);
    std::vector<bool> masked(p.keys(), true), dropped(p.keys(), false);
    for (int64_t j : keys) {
        masked[j] = false;
        dropped[j] = p.dropout > 0 && is_dropped(p.dropout, p.seed, at.b, at.h, at.i, j);
        weights[j] = dropped[j] ? 0 : weights[j] / sum / (1 - static_cast<Real>(p.dropout));
    }
    answer.masked.insert(answer.masked.end(), masked.begin(), masked.end());
    answer.dropped.insert(answer.dropped.end(), dropped.begin(), dropped.end());
    answer.lse.push_back(keys.empty() ? sink : static_cast<Real>(largest + std::log(sum)));
    answer.attends_nothing.push_back(keys.empty());
    return weights;
}

template <typename T> void append(std::vector<double> &all, const std::vector<T> &values) {
    all.insert(all.end(), values.begin(), values.end());
}

/** One query's row: `keys` in the order its sums run. A dropped weight leaves its value out, as a masked one does. */
template <typename Real> void append_row(AttentionAnswer &answer, const AttentionProblem &p, const std::vector<int64_t> &keys,
                                         const Row<Real> &row, const Place &at) {
    const std::vector<Real> weights = weigh(answer, p, keys, row, at);
    std::vector<Real> out(p.value_dim(), 0);
    for (int64_t j : keys) {
        if (p.dropout > 0 && weights[j] == 0) continue;
        const float *v = &p.v(at.b, at.h / (p.query_heads() / p.key_heads()), j, 0);
        for (size_t d = 0; d < out.size(); d++)
            out[d] += weights[j] * static_cast<Real>(v[d]);
    }
    append(answer.out, out), append(answer.weights, weights);
    append(answer.scaled, row.scaled), append(answer.capped, row.capped), append(answer.biased, row.biased);
}

template <typename Real> AttentionAnswer attention_in(const AttentionProblem &p, int order) {
    AttentionAnswer answer;
    const std::vector<int64_t> dims = sum_order(p.dim(), order), key_order = sum_order(p.keys(), order);
    for (int64_t b = 0; b < p.batch(); b++)
        for (int64_t h = 0; h < p.query_heads(); h++) {
            const Cells cells(p, b, h);
            const Rows<Real> rows(p, b, h);
            const Biases<Real> biases(p, cells, h);
            for (int64_t i = 0; i < p.queries(); i++) {
                const Row<Real> row(p, cells, biases, rows.dots(i, dims), i);
                std::vector<int64_t> keys;
                for (int64_t j : key_order)
                    if (cells.attended(i, j)) keys.push_back(j);
                append_row(answer, p, keys, row, {b, h, i});
            }
        }
    return answer;
}

template <typename T> std::optional<Tensor<T>> item_of(const std::optional<Tensor<T>> &tensor, int64_t item) {
    return tensor && tensor->extent[0] > 1 ? tensor->item(item) : tensor;
}

} // namespace

std::string AttentionProblem::score_text() const {
    const std::string bracketed = alignment.empty() ? "" : "(" + alignment + ")";
    std::string text = alibi ? "alibi" + bracketed : "";
    if (t5)
        text += (text.empty() ? "t5(" : " t5(") + std::to_string(t5->table.extent[0]) + ", " + std::to_string(t5->max_distance) +
                (t5->bidirectional ? ", bidirectional" : ", causal") + (alignment.empty() ? ")" : ", " + alignment + ")");
    return text.empty() ? "none" : text;
}

std::string AttentionProblem::position_text() const {
    if (learned) return "learned";
    if (!rotary) return "none";
    std::string text = rotary->interleaved ? "rotary(interleaved" : "rotary(half";
    if (rotary->base != 10000) text += ", base=" + std::to_string(rotary->base);
    if (rotary->width > 0) text += ", width=" + std::to_string(rotary->width);
    return text + (alignment.empty() ? ")" : ", " + alignment + ")");
}

AttentionProblem normal_problem(const AttentionShape &shape, Random &random, const Layout &layout) {
    AttentionProblem problem;
    problem.q = Tensor<float>({shape.batch, shape.query_heads, shape.queries, shape.dim}, layout);
    problem.k = Tensor<float>({shape.batch, shape.key_heads, shape.keys, shape.dim}, layout);
    problem.v = Tensor<float>({shape.batch, shape.key_heads, shape.keys, shape.value_dim}, layout);
    for (const Tensor<float> &tensor : {problem.q, problem.k, problem.v})
        random.fill_normal(tensor);
    return problem;
}

void add_overflow_beside_sinks(AttentionProblem &problem, int64_t key) {
    problem.bias = Tensor<float>({1, 1, 1, problem.keys()});
    problem.bias->fill(0);
    (*problem.bias)(0, 0, 0, key) = 3e38f;
    problem.temperature = 0.5f;
    problem.sinks = Tensor<float>({problem.query_heads()});
    problem.sinks->fill(1);
}

AttentionProblem batch_item(const AttentionProblem &problem, int64_t item) {
    AttentionProblem one = problem;
    one.q = problem.q.item(item), one.k = problem.k.item(item), one.v = problem.v.item(item);
    if (!problem.offsets.empty()) one.offsets = {problem.offsets[item]};
    if (!problem.key_lengths.empty()) one.key_lengths = {problem.key_lengths[item]};
    one.boolean_mask = item_of(problem.boolean_mask, item), one.block_map = item_of(problem.block_map, item);
    one.documents = item_of(problem.documents, item), one.query_documents = item_of(problem.query_documents, item);
    one.bias = item_of(problem.bias, item);
    return one;
}

AttentionAnswer attention_in_double(const AttentionProblem &problem) { return attention_in<double>(problem, 0); }
AttentionAnswer attention_in_float(const AttentionProblem &problem, int order) { return attention_in<float>(problem, order); }

Rounding::Rounding(const AttentionProblem &problem, const AttentionAnswer &exact) : problem_(problem), exact_(exact) { widen(); }

bool Rounding::widen() {
    constexpr int all = 8;
    if (orders_ == all) return false;
    take_in(orders_++);
    return true;
}

void Rounding::take_in(int order) {
    const AttentionAnswer rounded = attention_in_float(problem_, order);
    error_.out = std::max(error_.out, largest_error(rounded.out, exact_.out));
    error_.lse = std::max(error_.lse, largest_error(rounded.lse, exact_.lse));
    error_.weights = std::max(error_.weights, largest_error(rounded.weights, exact_.weights));
    error_.scaled = std::max(error_.scaled, largest_error(rounded.scaled, exact_.scaled));
    error_.capped = std::max(error_.capped, largest_error(rounded.capped, exact_.capped));
    error_.biased = std::max(error_.biased, largest_error(rounded.biased, exact_.biased));
}

} // namespace attune::test
