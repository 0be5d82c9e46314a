#include "half.h"

#include <cmath>
#include <limits>

namespace attune::test {
namespace {

struct Format {
    int digits;        // of the significand, the hidden one included
    int least, beyond; // exponents: of the smallest normal number, and past the largest
};

Format format_of(attune_type type) { return type == ATTUNE_F16 ? Format{11, -14, 16} : Format{8, -126, 128}; }

/** The weight of the last digit of numbers as large as `value`. */
double last_digit(attune_type type, double value) {
    const Format format = format_of(type);
    const int exponent = value == 0 ? format.least : std::max(std::ilogb(value), format.least);
    return std::ldexp(1.0, exponent - format.digits + 1);
}

} // namespace

double round_to(attune_type type, double value) {
    if (!std::isfinite(value)) return value;
    const double digit = last_digit(type, value);
    const double rounded = std::nearbyint(value / digit) * digit; // ties to even, as the environment has it
    return std::abs(rounded) < std::ldexp(1.0, format_of(type).beyond) ? rounded
                                                                       : std::copysign(std::numeric_limits<double>::infinity(), value);
}

double half_ulp(attune_type type, double magnitude) { return last_digit(type, magnitude); }

float half_value(attune_type type, uint16_t bits) {
    const Format format = format_of(type);
    const int fraction_bits = format.digits - 1, fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = (bits & 0x7fff) >> fraction_bits, highest = 0x7fff >> fraction_bits;
    double value = std::ldexp(fraction, format.least - fraction_bits);
    if (exponent > 0) value = std::ldexp(fraction + (1 << fraction_bits), format.least - fraction_bits + exponent - 1);
    if (exponent == highest) value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    return static_cast<float>(bits & 0x8000 ? -value : value);
}

uint16_t half_bits(attune_type type, float value) {
    const Format format = format_of(type);
    const int fraction_bits = format.digits - 1;
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0, infinity = 0x7fff >> fraction_bits << fraction_bits;
    const double rounded = std::abs(round_to(type, value));
    if (std::isnan(value)) return sign | infinity | 1;
    if (std::isinf(rounded)) return sign | infinity;
    // Subnormal numbers and normal ones alike count up from 0 in steps of the last digit, which doubles with each exponent.
    const int exponent = rounded == 0 ? format.least : std::max(std::ilogb(rounded), format.least);
    const double steps = std::ldexp(rounded, fraction_bits - exponent);
    return sign | static_cast<uint16_t>(static_cast<int>(steps) + ((exponent - format.least) << fraction_bits));
}

HalfTensor::HalfTensor(attune_type element_type, const Tensor<float> &values) : type(element_type), extent(values.extent) {
    values.each([&](float &value) { bits.push_back(half_bits(type, value)); });
}

attune_tensor HalfTensor::view() const {
    return attune_contiguous(const_cast<uint16_t *>(bits.data()), type, static_cast<int32_t>(extent.size()), extent.data());
}

std::vector<double> HalfTensor::values() const {
    std::vector<double> all;
    for (uint16_t each : bits)
        all.push_back(half_value(type, each));
    return all;
}

} // namespace attune::test
