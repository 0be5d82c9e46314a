#include "compare.h"

#include <cmath>

namespace attune::test::compare_test {
namespace {

TEST(Agrees, TakesNaNForNaNAlone) {
    EXPECT_TRUE(agrees({NAN, 1}, {NAN, 1}, {0}));
    EXPECT_FALSE(agrees({NAN, 1}, {2, 1}, {1e9}));
    EXPECT_FALSE(agrees({2, 1}, {NAN, 1}, {1e9}));
}

TEST(Agrees, TakesAnInfinityForItselfAlone) {
    EXPECT_TRUE(agrees({INFINITY, 1}, {INFINITY, 1}, {0}));
    EXPECT_FALSE(agrees({-INFINITY, 1}, {INFINITY, 1}, {1e9}));
    EXPECT_FALSE(agrees({3e38, 1}, {INFINITY, 1}, {1e39}));
    EXPECT_FALSE(agrees({INFINITY, 1}, {3e38, 1}, {1e39}));
}

TEST(Agrees, AppliesTheTolerance) {
    EXPECT_TRUE(agrees({1.5}, {1}, {0.5}));
    EXPECT_FALSE(agrees({1.500001}, {1}, {0.5}));
    EXPECT_TRUE(agrees({1 + 0x1p-23}, {1}, {0, 1}));
    EXPECT_FALSE(agrees({1 + 0x1p-22}, {1}, {0, 1}));
    EXPECT_TRUE(agrees({1 + 0x1p-22}, {1}, {0, 1, 2}));
}

TEST(Agrees, WantsEnoughFiniteValues) {
    EXPECT_FALSE(agrees({NAN, NAN, 1}, {NAN, NAN, 1}, {0}));
    EXPECT_TRUE(agrees({NAN, NAN, 1}, {NAN, NAN, 1}, {0}, 0.3));
    EXPECT_FALSE(agrees({1}, {1, 2}, {0}));
}

TEST(SameBits, TellsZerosApartAndKnowsNaN) {
    EXPECT_TRUE(same_bits(std::vector<float>{NAN, 0.0f}, {NAN, 0.0f}));
    EXPECT_FALSE(same_bits(std::vector<float>{-0.0f}, {0.0f}));
    EXPECT_FALSE(same_bits(std::vector<float>{1.0f, 2.0f}, {1.0f}));
}

TEST(Ulp, IsTheDistanceToTheNextFloat) {
    EXPECT_EQ(ulp_at(1), 0x1p-23);
    EXPECT_EQ(ulp_at(-4), 0x1p-21);
    EXPECT_EQ(ulp_at(0), 0x1p-149);
    EXPECT_EQ(largest_error({1, 2, NAN}, {1.25, 2, 3}), 0.25);
    EXPECT_EQ(twice_rounded({1, 2}, {1.25, 2}, 1).limit(7), 0.5 + 0x1p-23);
}

} // namespace
} // namespace attune::test::compare_test
