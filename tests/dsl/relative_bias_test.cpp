// ALiBi's slopes and T5's buckets as declared, against their authors' formulas.
#include <gtest/gtest.h>

#include "compare.h"
#include "dsl/score.h"
#include "relative_oracle.h"

namespace attune::test::relative_bias_test {
namespace {

TEST(AlibiSlope, IsTheAuthors) {
    Halide::Param<int32_t> heads;
    Halide::Func slopes = dsl::alibi_slopes(heads).slopes;
    slopes.compile_jit();
    for (int count = 1; count <= 140; count++) {
        heads.set(count);
        const Halide::Buffer<float> got = slopes.realize({count});
        EXPECT_TRUE(agrees({got.begin(), got.end()}, slopes_in_double(count), {0, 1, 0})) << count << " heads";
    }
}

TEST(T5Bucket, HasTheEdgesOfExactArithmetic) {
    Halide::Param<int32_t> buckets, max_distance, bidirectional;
    Halide::Func bucket;
    Halide::Var relative;
    bucket(relative) = dsl::t5_bucket(relative, {buckets, max_distance, bidirectional});
    bucket.compile_jit();
    const T5 shapes[] = {{32, 128, true}, {32, 128, false}, {64, 256, true},  {64, 256, false}, {16, 128, true}, {32, 512, false},
                         {32, 100, true}, {8, 20, false},   {320, 800, true}, {2, 8, false},    {3, 5, false},   {6, 64, true}};
    for (const T5 &t5 : shapes) {
        buckets.set(int(t5.buckets)), max_distance.set(int(t5.max_distance)), bidirectional.set(t5.bidirectional);
        Halide::Buffer<int32_t> got(2001);
        got.set_min(-1000);
        bucket.realize(got);
        for (int r = -1000; r <= 1000; r++)
            ASSERT_EQ(got(r), t5_bucket_in_integers(r, t5)) << r << " of " << t5.buckets << ", " << t5.max_distance;
    }
}

TEST(T5Bucket, FarDistancesShareTheLast) {
    Halide::Func bucket;
    Halide::Var side;
    bucket(side) = dsl::t5_bucket(select(side == 0, -2147483647, 2147483647), {32, 128, 1});
    const Halide::Buffer<int32_t> got = bucket.realize({2});
    EXPECT_EQ(got(0), 15);
    EXPECT_EQ(got(1), 31);
}

} // namespace
} // namespace attune::test::relative_bias_test
