// The oracles of ALiBi and T5 against published numbers and each other.
#include "relative_oracle.h"

#include <gtest/gtest.h>

namespace attune::test::relative_oracle_test {
namespace {

TEST(AlibiOracle, GivesThePublishedSlopes) {
    EXPECT_EQ(slopes_in_double(8), (std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625}));
    const std::vector<double> twelve = slopes_in_double(12);
    ASSERT_EQ(twelve.size(), 12u);
    EXPECT_NEAR(twelve[7], 0.00390625, 1e-15);
    EXPECT_NEAR(twelve[8], 0.70710678118654752, 1e-15); // the first of 16
    EXPECT_NEAR(twelve[11], 0.08838834764831845, 1e-15);
}

TEST(T5Oracle, WholeNumbersAndFloatsAgree) {
    const T5 shapes[] = {{32, 128, true}, {32, 128, false}, {64, 256, true}, {64, 256, false}, {16, 128, true}, {32, 512, false},
                         {32, 100, true}, {8, 20, false},   {6, 64, true},   {320, 800, true}, {2, 8, false},   {128, 2048, false}};
    for (const T5 &t5 : shapes)
        for (int64_t relative = -2100; relative <= 2100; relative++)
            ASSERT_EQ(t5_bucket_in_integers(relative, t5), t5_bucket_in_float(relative, t5))
                << relative << " of " << t5.buckets << ", " << t5.max_distance;
}

// d / 8 = 16^(k / 8) is whole at 16, 32 and 64: those distances open their buckets.
TEST(T5Oracle, WholeRatiosOpenBuckets) {
    const T5 t5 = {32, 128, true};
    const int64_t buckets[] = {9, 10, 11, 12, 13, 14, 15, 15};
    const int64_t distances[] = {15, 16, 31, 32, 63, 64, 127, 128};
    for (int i = 0; i < 8; i++)
        EXPECT_EQ(t5_bucket_in_integers(-distances[i], t5), buckets[i]) << distances[i];
}

} // namespace
} // namespace attune::test::relative_oracle_test
