// dsl::word_powers, over fixed-point exponents from the lowest to that of 0.
#include <cmath>
#include <vector>

#include "bits.h"
#include "compare.h"
#include "dsl/word_powers.h"
#include "elementwise.h"

namespace attune::test::word_powers_test {
namespace {

using dsl::WordExponent;

class WordPowers : public EachTarget {
protected:
    /** The power of an exponent, as the lower or upper (`which` 0 or 1) of a pair with that of another. */
    static Halide::Expr power(const Halide::Expr &exponent, float apart, int which) {
        const Halide::Expr further = dsl::WordExponent::clamped(exponent - apart), own = dsl::WordExponent::clamped(exponent);
        const Halide::Expr pair = which == 0 ? dsl::word_powers(own, further) : dsl::word_powers(further, own);
        return Halide::reinterpret<float>(which == 0 ? pair << 16 : pair & Halide::Expr(0xffff0000u));
    }
    Elementwise lower{GetParam(), [](const Halide::Expr &x) { return power(x, 1.25f, 0); }};
    Elementwise upper{GetParam(), [](const Halide::Expr &x) { return power(x, 1.25f, 1); }};
};

INSTANTIATE_TEST_SUITE_P(Targets, WordPowers, ::testing::ValuesIn(runnable_targets()), target_in_test_name);

double x_of(float exponent) { return (double(exponent) - double(WordExponent::of_zero)) / double(WordExponent::per_unit); }

/** The exponent that x has, as a multiply-add makes it. */
float exponent_of(double x) { return static_cast<float>(x * double(WordExponent::per_unit) + double(WordExponent::of_zero)); }

/** From the exponent of -126 up to where rounding may bring that of 0. */
TEST_P(WordPowers, AreTheNearestNumbersOfBfloat16) {
    std::vector<float> exponents;
    for (uint32_t bits = bits_of(exponent_of(-126)); bits <= bits_of(exponent_of(0.375)); bits += 3)
        exponents.push_back(from_bits(bits));
    const std::vector<float> low = lower(exponents), high = upper(exponents);
    for (size_t i = 0; i < exponents.size(); i++) {
        const double exact = std::exp2(x_of(exponents[i]) + 0.5);
        // From 1 - 2^-8 of a power of 2 on it is off by as much as just above it.
        const double binade = std::exp2(std::floor(std::log2(exact / (1 - std::ldexp(1.0, -8)) * (1 + std::ldexp(1.0, -15)))));
        ASSERT_LE(std::abs(low[i] - exact), std::ldexp(binade, -8) + std::ldexp(exact, -12)) << exponents[i];
        ASSERT_EQ(bits_of(low[i]), bits_of(high[i])) << exponents[i];
    }
}

/** Where the number changes the power is that halfway between both, within 2^-10. */
TEST_P(WordPowers, GrowWithTheExponentAndTurnNearTies) {
    std::vector<float> exponents;
    for (uint32_t bits = bits_of(exponent_of(-2)); bits <= bits_of(exponent_of(0)); bits++)
        exponents.push_back(from_bits(bits));
    const std::vector<float> powers = lower(exponents);
    for (size_t i = 1; i < powers.size(); i++) {
        ASSERT_LE(powers[i - 1], powers[i]) << exponents[i];
        if (powers[i - 1] == powers[i]) continue;
        const double exact = std::exp2(x_of(exponents[i]) + 0.5), tie = (double(powers[i - 1]) + double(powers[i])) / 2;
        const bool is_power_of_2 = std::exp2(std::round(std::log2(double(powers[i])))) == double(powers[i]);
        // Of a power of 2 the numbers just below are nearer than those above.
        if (!is_power_of_2) ASSERT_LE(std::abs(exact / tie - 1), std::ldexp(1.0, -10)) << exponents[i];
    }
}

TEST_P(WordPowers, AreExactWhereTheyMustBe) {
    for (const Elementwise *powers : {&lower, &upper}) {
        Elementwise of = *powers;
        EXPECT_EQ(of({exponent_of(0)}), std::vector<float>{1.4140625f}); // sqrt 2
        for (float y : of({WordExponent::lowest, 1.0f, 0.0f, -5.0f, -1e30f, std::numeric_limits<float>::lowest(), -infinity}))
            EXPECT_EQ(bits_of(y), 0u);
    }
}

/** So that a sum of a few thousand powers with one of it is below 0, or NaN. */
TEST_P(WordPowers, AreFarBelowZeroForNan) {
    for (float y : lower(all_kinds_of_nan()))
        EXPECT_FALSE(y > -0x1p65f) << y;
    for (float y : upper(all_kinds_of_nan()))
        EXPECT_FALSE(y > -0x1p65f) << y;
}

} // namespace
} // namespace attune::test::word_powers_test
