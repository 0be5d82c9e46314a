#include "bench/exact.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attune::bench {

Exact exact_softmax(Exact scores, bool log) {
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double score : scores)
        sum += std::exp(score - largest);
    for (double &score : scores)
        score = log ? score - largest - std::log(sum) : std::exp(score - largest) / sum;
    return scores;
}

Exact exact_norm(Exact x, bool centred, double epsilon) {
    const auto count = double(x.size());
    const double mean = centred ? std::accumulate(x.begin(), x.end(), 0.0) / count : 0;
    double squares = 0;
    for (double &value : x)
        value -= mean, squares += value * value;
    for (double &value : x)
        value /= std::sqrt(squares / count + epsilon);
    return x;
}

double largest_error(int64_t rows, int64_t checked, const std::function<Exact(int64_t row)> &exact,
                     const std::function<double(int64_t row, int64_t column)> &got) {
    checked = std::min(checked, rows);
    double largest = 0, error = 0;
    for (int64_t i = 0; i < checked; ++i) {
        const int64_t row = checked == 1 ? 0 : i * (rows - 1) / (checked - 1);
        const Exact want = exact(row);
        for (std::size_t column = 0; column < want.size(); ++column) {
            const double off = std::abs(got(row, static_cast<int64_t>(column)) - want[column]);
            largest = std::max(largest, std::abs(want[column]));
            if (!(off <= error)) error = off; // NaN is an error too
        }
    }
    return error / largest;
}

} // namespace attune::bench
