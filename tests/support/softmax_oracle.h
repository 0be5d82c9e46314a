// Softmax, its logarithm and log-sum-exp by plain loops, in float64 and with every intermediate rounded to f32.
#pragma once

#include <vector>

#include "tensor.h"

namespace attune::test {

/** exp(x / T - logsumexp(x / T)) of every row, or its logarithm. -inf masks; a row of nothing but -inf gives 0, or -inf. C order. */
std::vector<double> softmax_in_double(const Tensor<float> &x, float temperature, bool log);
std::vector<double> softmax_in_float(const Tensor<float> &x, float temperature, bool log);

enum class AxisKind { softmax, log_softmax, log_sum_exp };

/** One axis of a tensor, counted from the front. `mask`: 0 or not for each element of x, seen as wide as x; or no memory at all. */
struct AxisProblem {
    AxisKind kind;
    Tensor<float> x;
    int axis;
    Tensor<uint8_t> mask = {};
    float temperature = 1;
};

/** What each line of elements along the axis gives; of log_sum_exp one value. What the mask leaves out counts for nothing and gets 0, or
 * -inf. C order. */
std::vector<double> along_axis_in_double(const AxisProblem &problem);
std::vector<double> along_axis_in_float(const AxisProblem &problem);

/** Temperatures whose inverses, or quotients of ordinary numbers by them, a float may not hold, and the answer then: that in float64, each
 * number of it rounded to f32, infinite where that is too small. */
constexpr float extreme_temperatures[] = {1e-45f, 1e-38f, 1e-25f, 1e30f, 3e38f};
std::vector<double> along_axis_rounded_once(const AxisProblem &problem);

} // namespace attune::test
