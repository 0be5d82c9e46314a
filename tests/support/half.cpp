#include "half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attune::test {
namespace {

struct Format {
    int digits;        // of the significand, the hidden one included
    int least, beyond; // exponents: of the smallest normal number, and past the largest
};

Format format_of(attune_type type) {
    if (type == ATTUNE_F32) return {24, -126, 128};
    return type == ATTUNE_F16 ? Format{11, -14, 16} : Format{8, -126, 128};
}

// Exponents by the bits of float64, not by ldexp and ilogb: oracles round millions of numbers.
constexpr int double_bias = 1023, double_fraction_bits = 52;

/** 2^exponent, where that is a normal float64. */
double power_of_two(int exponent) {
    const uint64_t bits = static_cast<uint64_t>(exponent + double_bias) << double_fraction_bits;
    double power = 0;
    std::memcpy(&power, &bits, sizeof power);
    return power;
}

/** The exponent of a finite value, no less than `least`, to which 0 and float64's subnormal numbers come as well. */
int exponent_of(double value, int least) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return std::max(static_cast<int>(bits >> double_fraction_bits & 0x7ff) - double_bias, least);
}

/** The weight of the last digit of numbers as large as `value`. */
double last_digit(attune_type type, double value) {
    const Format format = format_of(type);
    return power_of_two(exponent_of(value, format.least) - format.digits + 1);
}

} // namespace

double round_to(attune_type type, double value) {
    if (!std::isfinite(value)) return value;
    // Numbers around this one are whole multiples of the last digit: the sum is rounded to one, ties to even, as the environment has it.
    const double coarse = 1.5 * power_of_two(double_fraction_bits) * last_digit(type, value);
    const double rounded = std::abs(value + coarse - coarse);
    return std::copysign(rounded < power_of_two(format_of(type).beyond) ? rounded : std::numeric_limits<double>::infinity(), value);
}

double half_ulp(attune_type type, double magnitude) { return last_digit(type, magnitude); }

float half_value(attune_type type, uint16_t bits) {
    const Format format = format_of(type);
    const int fraction_bits = format.digits - 1, fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = (bits & 0x7fff) >> fraction_bits, highest = 0x7fff >> fraction_bits;
    double value = fraction * power_of_two(format.least - fraction_bits);
    if (exponent > 0) value = (fraction + (1 << fraction_bits)) * power_of_two(format.least - fraction_bits + exponent - 1);
    if (exponent == highest) value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
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
    const int exponent = exponent_of(rounded, format.least);
    const double steps = rounded * power_of_two(fraction_bits - exponent);
    return sign | static_cast<uint16_t>(static_cast<int>(steps) + ((exponent - format.least) << fraction_bits));
}

std::vector<uint16_t> half_nans(attune_type type) {
    const uint16_t infinity = type == ATTUNE_BF16 ? 0x7f80 : 0x7c00, quiet = type == ATTUNE_BF16 ? 0x0040 : 0x0200;
    std::vector<uint16_t> nans;
    for (uint16_t sign : {uint16_t{0}, uint16_t{0x8000}})
        for (uint16_t payload : {uint16_t{1}, uint16_t(quiet - 1), quiet, uint16_t(quiet + 1), uint16_t(2 * quiet - 1)})
            nans.push_back(static_cast<uint16_t>(sign | infinity | payload));
    return nans;
}

HalfTensor::HalfTensor(attune_type element_type, const Tensor<float> &values) : type(element_type), extent(values.extent) {
    bits.reserve(values.elements());
    values.each([&](float &value) { bits.push_back(half_bits(type, value)); });
}

attune_tensor HalfTensor::view() const {
    return attune_contiguous(const_cast<uint16_t *>(bits.data()), type, static_cast<int32_t>(extent.size()), extent.data());
}

std::vector<double> HalfTensor::values() const {
    std::vector<double> all;
    all.reserve(bits.size());
    for (uint16_t each : bits)
        all.push_back(half_value(type, each));
    return all;
}

} // namespace attune::test
