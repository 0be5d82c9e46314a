// Philox against the known answers that Random123 publishes for it (tests/kat_vectors, "philox4x32 10").
#include "philox.h"

#include <gtest/gtest.h>

namespace attune::test::philox_test {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, GivesTheKnownAnswers) {
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    const uint32_t ones = 0xffffffff;
    EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DropsTheShareAskedFor) {
    int dropped = 0;
    for (int64_t i = 0; i < 100; i++)
        for (int64_t j = 0; j < 100; j++)
            dropped += is_dropped(0.25f, 42, 1, 2, i, j);
    EXPECT_NEAR(dropped, 2500, 200); // five deviations
    EXPECT_FALSE(is_dropped(0, 42, 0, 0, 0, 0));
}

} // namespace
} // namespace attune::test::philox_test
