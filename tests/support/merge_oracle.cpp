#include "merge_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::test {
namespace {

/** ln(e^a + e^b); -inf is the logarithm of nothing. */
double log_of_sum(double a, double b) {
    const double nothing = -std::numeric_limits<double>::infinity();
    if (a == nothing) return b;
    if (b == nothing) return a;
    if (std::isnan(a + b)) return a + b;
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

} // namespace

MergedResult merge_in_double(const PartialResult &a, const PartialResult &b) {
    const double nothing = -std::numeric_limits<double>::infinity();
    const std::vector<float> a_out = a.out.values(), b_out = b.out.values(), a_lse = a.lse.values(), b_lse = b.lse.values();
    const size_t width = static_cast<size_t>(a.out.extent.back());
    MergedResult merged;
    for (size_t row = 0; row < a_lse.size(); row++) {
        const double lse = log_of_sum(a_lse[row], b_lse[row]);
        merged.lse.push_back(lse);
        for (size_t i = row * width; i < (row + 1) * width; i++) {
            double value = 0;
            if (a_lse[row] != nothing) value += std::exp(a_lse[row] - lse) * a_out[i];
            if (b_lse[row] != nothing) value += std::exp(b_lse[row] - lse) * b_out[i];
            merged.out.push_back(value);
        }
    }
    return merged;
}

} // namespace attune::test
