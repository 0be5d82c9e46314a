// Softmax over the innermost axis by plain loops, in float64 and with every intermediate rounded to f32.
#pragma once

#include <vector>

#include "tensor.h"

namespace attune::test {

/** exp(x / T - logsumexp(x / T)) of every row, or its logarithm. -inf masks; a row of nothing but -inf gives 0, or -inf. C order. */
std::vector<double> softmax_in_double(const Tensor<float> &x, float temperature, bool log);
std::vector<double> softmax_in_float(const Tensor<float> &x, float temperature, bool log);

} // namespace attune::test
