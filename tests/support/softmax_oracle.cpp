#include "softmax_oracle.h"

#include <cmath>
#include <limits>

namespace attune::test {
namespace {

template <typename Real> std::vector<Real> softmax_row(const float *x, int64_t length, Real temperature, bool log) {
    const Real infinity = std::numeric_limits<Real>::infinity();
    std::vector<Real> s(x, x + length);
    Real largest = -infinity, sum = 0;
    for (Real &value : s) {
        value /= temperature;
        largest = std::isnan(largest) || largest > value ? largest : value;
    }
    for (Real value : s)
        sum += value == -infinity ? 0 : std::exp(value - largest);
    for (Real &value : s) {
        if (value == -infinity)
            value = std::isnan(sum) ? sum : (log ? -infinity : 0);
        else
            value = log ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
    }
    return s;
}

template <typename Real> std::vector<double> softmax_in(const Tensor<float> &x, float temperature, bool log) {
    std::vector<double> y;
    const int64_t length = x.extent.back();
    const std::vector<float> all = x.values();
    for (size_t row = 0; row < all.size(); row += length) {
        const std::vector<Real> s = softmax_row<Real>(&all[row], length, temperature, log);
        y.insert(y.end(), s.begin(), s.end());
    }
    return y;
}

} // namespace

std::vector<double> softmax_in_double(const Tensor<float> &x, float temperature, bool log) {
    return softmax_in<double>(x, temperature, log);
}
std::vector<double> softmax_in_float(const Tensor<float> &x, float temperature, bool log) { return softmax_in<float>(x, temperature, log); }

} // namespace attune::test
