#include "bench/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attune::bench {
namespace {

// Of f16: 10 bits of fraction, whose last digit in numbers below 2^-14 is 2^-24.
constexpr int fraction_bits = 10, least_exponent = -14, largest_exponent = 15;
constexpr uint16_t half_infinity = 0x7c00;

uint16_t f16_bits(float value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const float magnitude = std::fabs(value);
    const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), least_exponent) : least_exponent;
    if (exponent > largest_exponent) return sign | half_infinity;
    // Steps of the last digit count up through the exponents: one more than the largest fraction is the next exponent's first.
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
    return static_cast<uint16_t>(sign | (steps + ((exponent - least_exponent) << fraction_bits)));
}

float f16_value(uint16_t bits) {
    const int exponent = (bits & half_infinity) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    const int hidden = exponent > 0 ? 1 << fraction_bits : 0;
    float magnitude = std::ldexp(static_cast<float>(hidden + fraction), least_exponent - fraction_bits + std::max(exponent - 1, 0));
    if ((bits & half_infinity) == half_infinity)
        magnitude = fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    return bits & 0x8000 ? -magnitude : magnitude;
}

} // namespace

uint16_t half_bits(attune_type type, float value) {
    if (type == ATTUNE_F16) return f16_bits(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float half_value(attune_type type, uint16_t bits) {
    if (type == ATTUNE_F16) return f16_value(bits);
    const uint32_t wide = uint32_t{bits} << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

} // namespace attune::bench
