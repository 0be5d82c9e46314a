// Positional encodings by plain loops in long double, whose angles are exact to far below f32.
#pragma once

#include <vector>

#include "tensor.h"

namespace attune::test {

enum class RotaryLayout { half, interleaved };

/**
 * Each pair (a, c) of channels k of row n turned by (offset + n) * base^(-2k / R): (a cos - c sin, c cos + a sin); R =
 * `rotary_dim` leading channels turn, the others pass. C order; x is [..., tokens, dim].
 */
std::vector<double> rotary_in_long_double(const Tensor<float> &x, double base, RotaryLayout layout, int64_t rotary_dim, int64_t offset);

/** [tokens, dim]: sin of (offset + n) * base^(-2k / dim) in column 2k, its cosine in column 2k + 1. */
std::vector<double> sinusoidal_in_long_double(int64_t tokens, int64_t dim, double base, int64_t offset);

} // namespace attune::test
