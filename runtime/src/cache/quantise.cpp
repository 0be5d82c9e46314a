#include "runtime/src/cache/quantise.h"

#include <algorithm>
#include <limits>

#include "runtime/src/tensor/floats.h"

namespace attune::runtime {

namespace {

constexpr uint32_t magnitude_bits = 0x7fffffff, infinite_bits = 0x7f800000;

/** Adding 1.5 * 2^23 leaves no bits below the point, whatever the compiler makes of rounding functions. */
float nearest(float x) {
    constexpr float shift = 12582912.0f;
    return (x + shift) - shift;
}

/** Rows are converted piece by piece, so that loops over them are loops over floats. */
constexpr int64_t piece = 128;

int64_t load(const void *x, attune_type type, int64_t first, int64_t width, float *values) {
    const int64_t count = std::min(piece, width - first);
    for (int64_t i = 0; i < count; ++i)
        values[i] = float_at(x, type, first + i);
    return count;
}

/** The largest |x| as bits, which order as the numbers do, with Inf and NaN on top. */
uint32_t largest_bits(const void *x, attune_type type, int64_t width) {
    float values[piece];
    uint32_t largest = 0;
    for (int64_t first = 0; first < width; first += piece) {
        const int64_t count = load(x, type, first, width, values);
        for (int64_t i = 0; i < count; ++i)
            largest = std::max(largest, float_bits(values[i]) & magnitude_bits);
    }
    return largest;
}

} // namespace

float quantise_row(const void *x, attune_type type, int64_t width, int8_t *quantised) {
    const uint32_t largest = largest_bits(x, type, width);
    const bool finite = largest < infinite_bits;
    const float scale = finite ? float_from_bits(largest) / 127.0f : std::numeric_limits<float>::quiet_NaN();
    if (!finite || scale == 0) {
        std::fill_n(quantised, width, int8_t{0});
        return scale;
    }
    float values[piece];
    for (int64_t first = 0; first < width; first += piece) {
        const int64_t count = load(x, type, first, width, values);
        // The scale of a row of subnormal numbers is so coarse that quotients may pass 127.
        for (int64_t i = 0; i < count; ++i)
            quantised[first + i] = static_cast<int8_t>(nearest(std::clamp(values[i] / scale, -127.0f, 127.0f)));
    }
    return scale;
}

} // namespace attune::runtime
