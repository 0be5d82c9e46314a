// Positional encodings by plain loops in long double, whose angles are exact to far below f32.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor.h"

namespace attune::test {

enum class RotaryLayout { half, interleaved };

/** A rotary embedding as its papers and their published code define it. */
struct RotaryModel {
    RotaryLayout layout = RotaryLayout::half;
    int64_t width = 0; // channels turned
    double base = 10000;
    std::string scaling; // "", "linear", "ntk", "yarn" or "llama3"
    double factor = 1, original = 0;
    double beta_fast = 32, beta_slow = 1; // of yarn
    double low = 1, high = 4;             // of llama3
    std::vector<int64_t> sections = {};   // M-RoPE
    int64_t axes = 1;

    /** The model's scaling as the text that attune takes. */
    std::string scaling_text() const;
};

/** Radians a position, for each pair of the whole width. */
std::vector<long double> inverse_frequencies(const RotaryModel &model);

/** What cosines and sines are multiplied by: 0.1 ln(factor) + 1 for yarn. */
long double magnitude(const RotaryModel &model);

/** The position of a token, in one of the model's streams. */
using PositionOf = std::function<int64_t(int64_t stream, int64_t batch, int64_t token)>;

/** Each pair (a, c) of channels turned by its stream's position times its frequency: (a cos - c sin, c cos + a sin) times the magnitude;
 * other channels pass. C order; x is [tokens, dim], [heads, tokens, dim] or [batch, heads, tokens, dim]. */
std::vector<double> rotary_in_long_double(const Tensor<float> &x, const RotaryModel &model, const PositionOf &position);

/** The same unscaled, in one stream that counts on from `offset`. */
std::vector<double> rotary_in_long_double(const Tensor<float> &x, double base, RotaryLayout layout, int64_t rotary_dim, int64_t offset);

/** The sinusoidal table at one place: the sine of position * base^(-2k / dim) in channel 2k, its cosine in 2k + 1. */
double sinusoid(int64_t position, int64_t channel, int64_t dim, double base);

/** [tokens, dim], row n for position offset + n. */
std::vector<double> sinusoidal_in_long_double(int64_t tokens, int64_t dim, double base, int64_t offset);

} // namespace attune::test
