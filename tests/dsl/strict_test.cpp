// dsl::strict_*: IEEE 754 in vectors, on every target, although Halide's own operators assume that there is no NaN.
#include <cmath>

#include "bits.h"
#include "dsl/numeric.h"
#include "elementwise.h"

namespace attune::test::strict_test {
namespace {

using Halide::Expr;

class Strict : public EachTarget {
protected:
    /** f(a, b) for all pairs of special values, a fastest. */
    std::vector<float> over_pairs(const std::function<Expr(Expr, Expr)> &f) const {
        const int n = static_cast<int>(special.size());
        std::vector<float> values = special, result(n * n);
        const Halide::Buffer<float> in(values.data(), n);
        Halide::Buffer<float> out(result.data(), n, n);
        Halide::Var i("i"), j("j");
        Halide::Func pairs("pairs");
        pairs(i, j) = f(in(i), in(j));
        pairs.vectorize(i, 8, Halide::TailStrategy::GuardWithIf).realize(out, GetParam());
        return result;
    }

    template <typename F> void expect_pairs(const std::vector<float> &got, F want) const {
        for (size_t j = 0; j < special.size(); j++)
            for (size_t i = 0; i < special.size(); i++) {
                const float expected = want(special[i], special[j]), value = got[j * special.size() + i];
                EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
                    << special[i] << ", " << special[j] << ": " << value << ", expected " << expected;
            }
    }

    const std::vector<float> special = {
        from_bits(0x7fc00000), from_bits(0xffc00000), from_bits(0x7fc0dead), infinity, -infinity, 0.0f, -0.0f, 1.0f, -1.0f, 3e38f, -3e38f};
};

INSTANTIATE_TEST_SUITE_P(Targets, Strict, ::testing::ValuesIn(runnable_targets()), target_in_test_name);

TEST_P(Strict, LessIsFalseForNan) {
    const auto got = over_pairs([](const Expr &a, const Expr &b) { return select(dsl::strict_less(a, b), 1.0f, 0.0f); });
    expect_pairs(got, [](float a, float b) { return a < b ? 1.0f : 0.0f; });
}

TEST_P(Strict, NotLessIsTrueForNan) {
    const auto got = over_pairs([](const Expr &a, const Expr &b) { return select(!dsl::strict_less(a, b), 1.0f, 0.0f); });
    expect_pairs(got, [](float a, float b) { return a < b ? 0.0f : 1.0f; });
}

TEST_P(Strict, EqualIsFalseForNanAlsoWithItself) {
    const auto got = over_pairs([](const Expr &a, const Expr &b) { return select(dsl::strict_equal(a, b), 1.0f, 0.0f); });
    expect_pairs(got, [](float a, float b) { return a == b ? 1.0f : 0.0f; });
}

TEST_P(Strict, SubtractKeepsNanAndInf) {
    expect_pairs(over_pairs(dsl::strict_subtract), [](float a, float b) { return a - b; });
}

TEST_P(Strict, SubtractIsNotFoldedIntoTheSumItUndoes) {
    Elementwise rounded(GetParam(), [](const Expr &x) { return dsl::strict_subtract(x + 12582912.0f, 12582912.0f); });
    const std::vector<float> y = rounded({0.4f, 0.6f, -7.2f, -7.8f, 100.49f});
    EXPECT_EQ(y, (std::vector<float>{0, 1, -7, -8, 100}));
}

TEST_P(Strict, NanValueIsNan) {
    Elementwise nan(GetParam(), [](const Expr &x) { return select(x > 0.0f, dsl::nan_value(), x); });
    const std::vector<float> y = nan({1.0f, -1.0f, 2.0f, -2.0f});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[2]));
    EXPECT_EQ(y[1], -1.0f);
    EXPECT_EQ(y[3], -2.0f);
}

} // namespace
} // namespace attune::test::strict_test
