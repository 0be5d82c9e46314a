// Numbers of f32, f16 and bf16, and their bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "attune/attune.h"

namespace attune::runtime {

inline float float_from_bits(uint32_t bits) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

inline uint32_t float_bits(float x) {
    uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/** x of f16 by its bits. Exponents of f16 are 112 lower. The product with 2^112 makes numbers of f16's subnormals too; Inf and NaN come out
 * above 65504. */
inline float float16_value(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    const float x = float_from_bits(magnitude << 13) * float_from_bits(0x77800000);
    return float_from_bits(sign | float_bits(x) | (magnitude >= 0x7c00 ? 0x7f800000u : 0));
}

/** x of bf16 by its bits. */
inline float bfloat16_value(uint16_t bits) { return float_from_bits(static_cast<uint32_t>(bits) << 16); }

/** The nearest bf16 by its bits, ties to even; NaN for NaN. */
inline uint16_t bfloat16_bits(float value) {
    const uint32_t bits = float_bits(value);
    // A NaN's payload may lie in the lower half: one bit of the upper keeps it a NaN.
    if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits | 0x00400000) >> 16);
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/** Element i of contiguous f32, f16 or bf16. */
inline float float_at(const void *x, attune_type type, int64_t i) {
    if (type == ATTUNE_F32) return static_cast<const float *>(x)[i];
    const uint16_t half = static_cast<const uint16_t *>(x)[i];
    return type == ATTUNE_F16 ? float16_value(half) : bfloat16_value(half);
}

} // namespace attune::runtime
