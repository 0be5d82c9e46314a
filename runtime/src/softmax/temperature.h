// The temperature as kernels take it.
#pragma once

#include <algorithm>

namespace attune::runtime {

/** Any temperature above 0, brought to where log2(e) / T and s / T are ordinary floats. Outside this range softmax is the arg max, or
 * the plain mean, already. */
inline float kernel_temperature(float temperature) { return std::clamp(temperature, 1e-30f, 1e37f); }

} // namespace attune::runtime
