// Floats of 16 bits against their published tables.
#include "half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attune::test::half_test {
namespace {

TEST(Half, HasTheValuesOfBinary16) {
    const std::pair<uint16_t, float> known[] = {{0x0000, 0.0f},        {0x3c00, 1.0f},          {0xc000, -2.0f},
                                                {0x7bff, 65504.0f},    {0x0400, 6.1035156e-5f}, {0x0001, 5.9604645e-8f},
                                                {0x3555, 0.33325195f}, {0x7c00, INFINITY}};
    for (const auto &[bits, value] : known) {
        EXPECT_EQ(half_value(ATTUNE_F16, bits), value);
        EXPECT_EQ(half_bits(ATTUNE_F16, value), bits);
    }
    EXPECT_EQ(half_bits(ATTUNE_F16, 65520.0f), 0x7c00) << "past the range";
    EXPECT_EQ(half_bits(ATTUNE_F16, 1.0f + 0x1p-11f), 0x3c00) << "a tie, to even";
    EXPECT_EQ(half_bits(ATTUNE_F16, 1.0f + 3 * 0x1p-11f), 0x3c02) << "a tie, to even";
}

TEST(Half, HasTheUpperHalvesOfFloats) {
    for (auto [bits, value] :
         {std::pair<uint16_t, float>{0x3f80, 1.0f}, {0xc000, -2.0f}, {0x7f80, INFINITY}, {0x0080, 0x1p-126f}, {0x0001, 0x1p-133f}}) {
        EXPECT_EQ(half_value(ATTUNE_BF16, bits), value);
        EXPECT_EQ(half_bits(ATTUNE_BF16, value), bits);
    }
    EXPECT_TRUE(std::isnan(half_value(ATTUNE_BF16, half_bits(ATTUNE_BF16, NAN))));
}

TEST(Half, ComesBackFromEveryPattern) {
    for (attune_type type : {ATTUNE_F16, ATTUNE_BF16})
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            const float value = half_value(type, static_cast<uint16_t>(bits));
            EXPECT_TRUE(std::isnan(value) || half_bits(type, value) == bits) << bits;
        }
}

} // namespace
} // namespace attune::test::half_test
