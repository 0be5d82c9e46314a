// bf16: the upper half of f32.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace gpt {

inline float from_bf16(uint16_t half) {
    const uint32_t bits = uint32_t(half) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

/** Rounded to nearest, ties to even; NaN stays NaN. */
inline uint16_t to_bf16(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace gpt
