#include "bench/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bench/mask_rows.h"

namespace attune::bench {
namespace {

constexpr double work_budget = double(1 << 27); // multiply-adds, about 1 ns each
constexpr double infinity = std::numeric_limits<double>::infinity();

double dot(const float *x, const float *y, int64_t count) {
    double sum = 0;
    for (int64_t d = 0; d < count; ++d)
        sum += double(x[d]) * double(y[d]);
    return sum;
}

/** One output row: softmax(q k^T / sqrt(D)) v over the keys in `attended`; zeros where there are none. */
std::vector<double> attend(const Case &c, const float *q, const float *k, const float *v, const std::vector<Interval> &attended) {
    std::vector<double> scores(static_cast<std::size_t>(c.keys)), row(static_cast<std::size_t>(c.value_dim));
    double largest = -infinity, sum = 0;
    for (const Interval &keys : attended)
        for (int64_t j = keys.begin; j < keys.end; ++j) {
            scores[static_cast<std::size_t>(j)] = dot(q, k + j * c.head_dim, c.head_dim) / std::sqrt(double(c.head_dim));
            largest = std::max(largest, scores[static_cast<std::size_t>(j)]);
        }
    for (const Interval &keys : attended)
        for (int64_t j = keys.begin; j < keys.end; ++j) {
            const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
            sum += weight;
            for (std::size_t d = 0; d < row.size(); ++d)
                row[d] += weight * double(v[j * c.value_dim + static_cast<int64_t>(d)]);
        }
    for (double &value : row)
        value = sum > 0 ? value / sum : 0;
    return row;
}

/** |a - b|, and infinity if one of them is NaN: a comparison with NaN would pass it by. */
double distance(double a, double b) {
    const double difference = std::fabs(a - b);
    return std::isnan(difference) ? infinity : difference;
}

double row_error(const Case &c, const Workload &w, const MaskRows &rows, int64_t index) {
    const int64_t i = index % c.queries, head = index / c.queries; // head counts over batch and query heads
    const int64_t kv_head = head / c.query_heads * c.kv_heads + head % c.query_heads / (c.query_heads / c.kv_heads);
    const std::vector<double> expected =
        attend(c, w.q() + index * c.head_dim, w.k() + kv_head * c.keys * c.head_dim, w.v() + kv_head * c.keys * c.value_dim, rows.keys(i));
    double error = 0;
    for (std::size_t d = 0; d < expected.size(); ++d)
        error = std::max(error, distance(expected[d], double(w.out(index * c.value_dim + static_cast<int64_t>(d)))));
    return error;
}

} // namespace

double max_error(const Case &c, const Workload &workload) {
    const MaskRows rows(c);
    const int64_t total = c.batch * c.query_heads * c.queries;
    const double row_work = double(c.keys) * double(c.head_dim + c.value_dim);
    const int64_t sample = std::min(total, static_cast<int64_t>(std::clamp(work_budget / row_work, 8.0, 1024.0)));
    double error = 0, scale = 0;
    for (int64_t s = 0; s < sample; ++s)
        error = std::max(error, row_error(c, workload, rows, sample > 1 ? s * (total - 1) / (sample - 1) : 0));
    for (int64_t i = 0; i < workload.v_count(); ++i)
        scale = std::max(scale, double(std::fabs(workload.v()[i])));
    return scale > 0 ? error / scale : error;
}

} // namespace attune::bench
