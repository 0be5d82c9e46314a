// f16 and bf16, rounded to nearest even.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace attune::emulator {

template <class To, class From> inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline float float_of_half(uint16_t bits) { return _cvtsh_ss(bits); }
inline float float_of_brain(uint16_t bits) { return bits_as<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t half_of(float value) { return std::isnan(value) ? 0x7fff : _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT); }
inline uint16_t brain_of(float value) {
    const auto bits = bits_as<uint32_t>(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/** The float next to a double, away from even, where the double is no float: rounding the result to a narrower type is then right. */
inline float round_to_odd(double value) {
    const float near = static_cast<float>(value);
    if (static_cast<double>(near) == value || std::isnan(value) || std::isinf(near)) return near;
    auto bits = bits_as<uint32_t>(near);
    if (std::fabs(static_cast<double>(near)) > std::fabs(value)) --bits;
    return bits_as<float>(bits | 1);
}

inline uint16_t half_of(double value) { return half_of(round_to_odd(value)); }
inline uint16_t brain_of(double value) { return brain_of(round_to_odd(value)); }

} // namespace attune::emulator
