#include "quantise.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace attune::runtime {

namespace {

constexpr uint32_t magnitude_bits = 0x7fffffff, infinite_bits = 0x7f800000;

float from_bits(uint32_t bits) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

uint32_t bits_of(float x) {
    uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/** Exponents of f16 are 112 lower. The product with 2^112 makes numbers of f16's subnormals too; Inf and NaN come out above 65504. */
float from_f16(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    const float x = from_bits(magnitude << 13) * from_bits(0x77800000);
    return from_bits(sign | bits_of(x) | (magnitude >= 0x7c00 ? infinite_bits : 0));
}

float element(const void *x, attune_type type, int64_t i) {
    if (type == ATTUNE_F32) return static_cast<const float *>(x)[i];
    const uint16_t half = static_cast<const uint16_t *>(x)[i];
    return type == ATTUNE_F16 ? from_f16(half) : from_bits(static_cast<uint32_t>(half) << 16);
}

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
        values[i] = element(x, type, first + i);
    return count;
}

/** The largest |x| as bits, which order as the numbers do, with Inf and NaN on top. */
uint32_t largest_bits(const void *x, attune_type type, int64_t width) {
    float values[piece];
    uint32_t largest = 0;
    for (int64_t first = 0; first < width; first += piece) {
        const int64_t count = load(x, type, first, width, values);
        for (int64_t i = 0; i < count; ++i)
            largest = std::max(largest, bits_of(values[i]) & magnitude_bits);
    }
    return largest;
}

} // namespace

float quantise_row(const void *x, attune_type type, int64_t width, int8_t *quantised) {
    const uint32_t largest = largest_bits(x, type, width);
    const bool finite = largest < infinite_bits;
    const float scale = finite ? from_bits(largest) / 127.0f : std::numeric_limits<float>::quiet_NaN();
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
