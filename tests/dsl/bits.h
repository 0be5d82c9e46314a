// Floats by their bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace attune::test {

inline float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

/** Quiet NaNs of both signs, whose payloads reach from none to all ones. */
inline std::vector<float> all_kinds_of_nan() {
    std::vector<float> values;
    for (uint32_t sign : {0u, 0x80000000u})
        for (uint32_t payload : {0u, 1u, 0xadu, 0x100u, 0x1ffu, 0xdeadu, 0x3fff00u, 0x3fffffu})
            values.push_back(from_bits(sign | 0x7fc00000u | payload));
    return values;
}

constexpr float infinity = std::numeric_limits<float>::infinity();

} // namespace attune::test
