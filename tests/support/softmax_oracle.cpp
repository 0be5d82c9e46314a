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

/** ln sum e^s of what is counted. */
template <typename Real> Real log_sum_exp(const std::vector<Real> &s) {
    const Real infinity = std::numeric_limits<Real>::infinity();
    Real largest = -infinity, sum = 0;
    for (Real value : s)
        largest = std::isnan(largest) || largest > value ? largest : value;
    if (std::isinf(largest)) {
        for (Real value : s)
            largest = std::isnan(value) ? value : largest;
        return largest;
    }
    for (Real value : s)
        sum += std::exp(value - largest);
    return largest + std::log(sum);
}

template <typename Real> std::vector<double> along_axis_in(const AxisProblem &p) {
    const std::vector<float> x = p.x.values();
    const std::vector<uint8_t> mask = p.mask.memory ? p.mask.values() : std::vector<uint8_t>(x.size(), 1);
    const int64_t length = p.x.extent[p.axis];
    int64_t after = 1, before = 1;
    for (int i = 0; i < int(p.x.extent.size()); i++)
        (i < p.axis ? before : after) *= i == p.axis ? 1 : p.x.extent[i];
    const bool one = p.kind == AxisKind::log_sum_exp;
    std::vector<double> y(before * (one ? 1 : length) * after);
    for (int64_t line = 0; line < before * after; line++) {
        const int64_t first = line / after * length * after + line % after;
        std::vector<float> counted;
        for (int64_t i = 0; i < length; i++)
            if (mask[first + i * after]) counted.push_back(x[first + i * after]);
        if (one) {
            std::vector<Real> s(counted.begin(), counted.end());
            for (Real &value : s)
                value /= p.temperature;
            y[line] = log_sum_exp(s);
            continue;
        }
        const std::vector<Real> s =
            softmax_row<Real>(counted.data(), int64_t(counted.size()), p.temperature, p.kind == AxisKind::log_softmax);
        const double left_out = p.kind == AxisKind::log_softmax ? -std::numeric_limits<double>::infinity() : 0;
        for (int64_t i = 0, next = 0; i < length; i++)
            y[first + i * after] = mask[first + i * after] ? double(s[next++]) : left_out;
    }
    return y;
}

} // namespace

std::vector<double> along_axis_in_double(const AxisProblem &problem) { return along_axis_in<double>(problem); }
std::vector<double> along_axis_in_float(const AxisProblem &problem) { return along_axis_in<float>(problem); }

std::vector<double> along_axis_rounded_once(const AxisProblem &problem) {
    std::vector<double> exact = along_axis_in_double(problem);
    for (double &value : exact)
        value = static_cast<float>(value);
    return exact;
}

std::vector<double> softmax_in_double(const Tensor<float> &x, float temperature, bool log) {
    return softmax_in<double>(x, temperature, log);
}
std::vector<double> softmax_in_float(const Tensor<float> &x, float temperature, bool log) { return softmax_in<float>(x, temperature, log); }

} // namespace attune::test
