// dsl::exp2_scaled and dsl::power_of_4, over the bit patterns of all they are for.
#include <algorithm>
#include <cmath>

#include "bits.h"
#include "compare.h"
#include "dsl/numeric.h"
#include "elementwise.h"

namespace attune::test::exp2_test {
namespace {

/** x with x * scale from -`depth` to -0, evenly over the bit patterns, whose density follows the floats'. */
std::vector<float> negatives_down_to(double depth, float scale) {
    const uint32_t first = 0x80000000u, last = bits_of(static_cast<float>(-depth / scale));
    const uint32_t stride = 1021; // prime, so that every pattern of low bits occurs
    std::vector<float> values;
    for (uint32_t bits = first; bits < last; bits += stride)
        values.push_back(from_bits(bits));
    return values;
}

/** Numbers from -1 to -1/4, many times as densely: what is left of them are the largest fractions, where a polynomial is off most. */
std::vector<float> with_large_fractions() {
    std::vector<float> values;
    for (uint32_t bits = bits_of(-0.25f); bits <= bits_of(-1.0f); bits += 31)
        values.push_back(from_bits(bits));
    return values;
}

/** Distance in ulps from 2^(x * scale), where the product is exact, as a fused multiply-add has it, or rounded: the better one. */
double ulps_off(float got, float x, float scale) {
    const double product = double(x) * double(scale), rounded = x * scale;
    double off = INFINITY;
    for (double exponent : {product, rounded}) {
        const double want = std::exp2(exponent);
        off = std::min(off, std::abs(got - want) / ulp_at(want));
    }
    return off;
}

class Exp2 : public EachTarget {
protected:
    Halide::Param<float> scale;
    Elementwise exp2{GetParam(), [this](const Halide::Expr &x) { return dsl::exp2_scaled(x, scale); }};
};

INSTANTIATE_TEST_SUITE_P(Targets, Exp2, ::testing::ValuesIn(runnable_targets()), target_in_test_name);

TEST_P(Exp2, IsWithinTwoUlp) {
    const float log2e = 1.44269504f;
    for (float s : {1.0f, log2e, log2e / 1e-3f, log2e / 100.0f}) {
        scale.set(s);
        std::vector<float> x = negatives_down_to(125, s);
        if (s == 1) {
            const std::vector<float> more = with_large_fractions();
            x.insert(x.end(), more.begin(), more.end());
        }
        const std::vector<float> y = exp2(x);
        double worst = 0;
        float at = 0;
        for (size_t i = 0; i < x.size(); i++) {
            const double off = ulps_off(y[i], x[i], s);
            if (!(off <= worst)) worst = off, at = x[i];
        }
        EXPECT_LE(worst, 2) << "exp2_scaled(" << at << ", " << s << ")";
    }
}

/** Of a number that is then rounded to bf16: within what moves few of them across a tie. */
TEST_P(Exp2, IsAsExactAsBfloat16TakesIt) {
    Elementwise rounded(GetParam(), [&](const Halide::Expr &x) { return dsl::exp2_scaled(x, scale, Halide::BFloat(16)); });
    for (float s : {1.0f, 1.44269504f}) {
        scale.set(s);
        const std::vector<float> x = negatives_down_to(125, s), y = rounded(x);
        for (size_t i = 0; i < x.size(); i++) {
            const double product = x[i] * s, exact = std::exp2(double(x[i]) * double(s)), of_rounded = std::exp2(product);
            ASSERT_LE(std::min(std::abs(y[i] - exact), std::abs(y[i] - of_rounded)), std::ldexp(exact, -18)) << x[i];
        }
    }
    scale.set(1.0f);
    EXPECT_EQ(rounded({0.0f, -0.0f, -1.0f, -126.0f, -infinity}), (std::vector<float>{1, 1, 0.5f, 0, 0}));
    for (float y : rounded(all_kinds_of_nan()))
        EXPECT_TRUE(std::isnan(y));
}

TEST_P(Exp2, IsZeroFarDown) {
    scale.set(1.0f);
    for (float y : exp2({-125.6f, -126, -127, -149, -150, -1000, -1e30f, std::numeric_limits<float>::lowest(), -infinity}))
        EXPECT_EQ(bits_of(y), 0u) << y;
    scale.set(1442.695f);
    for (float y : exp2({-1, -1e10f, -1e38f, std::numeric_limits<float>::lowest(), -infinity}))
        EXPECT_EQ(bits_of(y), 0u) << y;
}

TEST_P(Exp2, IsOneAtZero) {
    scale.set(1.44269504f);
    for (float y : exp2({0.0f, -0.0f, -std::numeric_limits<float>::denorm_min()}))
        EXPECT_EQ(y, 1.0f);
}

TEST_P(Exp2, IsNanForEveryNan) {
    scale.set(1.44269504f);
    const std::vector<float> x = all_kinds_of_nan(), y = exp2(x);
    for (size_t i = 0; i < x.size(); i++)
        EXPECT_TRUE(std::isnan(y[i])) << "NaN of bits " << std::hex << bits_of(x[i]) << " gave " << y[i];
}

/** By an instruction that multiplies and adds: of the exact product. */
TEST_P(Exp2, IsThatOfTheExactProduct) {
    if (!GetParam().has_feature(Halide::Target::FMA)) GTEST_SKIP() << "no such instruction";
    const auto multiply_add = [](const Halide::Expr &a, const Halide::Expr &b, const Halide::Expr &c) {
        using Halide::Internal::Call;
        return Call::make(Halide::Float(32), "llvm.fma.f32", {a, b, c}, Call::PureExtern);
    };
    Elementwise fused(GetParam(), [&](const Halide::Expr &x) { return dsl::exp2_scaled(x, scale, Halide::Float(32), multiply_add); });
    const float log2e = 1.44269504f;
    for (float s : {1.0f, log2e, log2e / 1e-3f, log2e / 100.0f}) {
        scale.set(s);
        const std::vector<float> x = negatives_down_to(125, s), y = fused(x);
        for (size_t i = 0; i < x.size(); i++) {
            const double want = std::exp2(double(x[i]) * double(s));
            ASSERT_LE(std::abs(y[i] - want), 2 * ulp_at(want)) << x[i] << " * " << s;
        }
        EXPECT_EQ(fused({0.0f, -0.0f, -1e38f, -infinity}), (std::vector<float>{1, 1, 0, 0}));
        for (float y : fused(all_kinds_of_nan()))
            EXPECT_TRUE(std::isnan(y));
    }
}

class PowerOf4 : public EachTarget {
protected:
    Elementwise power{GetParam(), [](const Halide::Expr &x) { return dsl::power_of_4(x); }};
};

INSTANTIATE_TEST_SUITE_P(Targets, PowerOf4, ::testing::ValuesIn(runnable_targets()), target_in_test_name);

TEST_P(PowerOf4, IsWithinTwoUlp) {
    const std::vector<float> x = negatives_down_to(62.5, 1), y = power(x);
    for (size_t i = 0; i < x.size(); i++)
        ASSERT_LE(ulps_off(y[i], x[i], 2), 2) << x[i];
}

TEST_P(PowerOf4, IsZeroFarDownAndOneAtZero) {
    for (float y : power({-62.8f, -63, -64, -1000, -1e10f, -1e30f, std::numeric_limits<float>::lowest(), -infinity}))
        EXPECT_EQ(bits_of(y), 0u) << y;
    EXPECT_EQ(power({0.0f, -0.0f, -std::numeric_limits<float>::denorm_min(), -0.5f, -62.5f}),
              (std::vector<float>{1, 1, 1, 0.5f, 0x1p-125f}));
}

TEST_P(PowerOf4, IsNanForEveryNan) {
    for (float y : power(all_kinds_of_nan()))
        EXPECT_TRUE(std::isnan(y));
}

} // namespace
} // namespace attune::test::exp2_test
