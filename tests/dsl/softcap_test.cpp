// dsl::softcap: c tanh(x / c).
#include <cmath>

#include "bits.h"
#include "dsl/numeric.h"
#include "elementwise.h"

namespace attune::test::softcap_test {
namespace {

class Softcap : public EachTarget {
protected:
    std::vector<float> both_signs() const {
        std::vector<float> x;
        for (uint32_t bits = bits_of(1e-20f); bits < bits_of(1e20f); bits += 4093)
            x.push_back(from_bits(bits)), x.push_back(-from_bits(bits));
        return x;
    }

    Halide::Param<float> c;
    Elementwise softcap{GetParam(), [this](const Halide::Expr &x) { return dsl::softcap(x, dsl::Cap(c)); }};
};

INSTANTIATE_TEST_SUITE_P(Targets, Softcap, ::testing::ValuesIn(runnable_targets()), target_in_test_name);

TEST_P(Softcap, IsCloseNearZeroAndFarOut) {
    for (float cap : {0.5f, 30.0f, 50.0f}) {
        c.set(cap);
        const std::vector<float> x = both_signs(), y = softcap(x);
        double worst = 0;
        float at = 0;
        for (size_t i = 0; i < x.size(); i++) {
            const double want = cap * std::tanh(double(x[i]) / cap), off = std::abs(y[i] - want) / std::abs(want);
            if (!(off <= worst)) worst = off, at = x[i];
        }
        // Just above 0.01 c, where the small branch ends, 1 - e keeps 18 of its 24 bits.
        EXPECT_LE(worst, 1e-5) << "softcap(" << at << ", " << cap << ")";
    }
}

TEST_P(Softcap, IsOdd) {
    c.set(30.0f);
    const std::vector<float> x = both_signs(), y = softcap(x);
    for (size_t i = 0; i < x.size(); i += 2)
        ASSERT_EQ(bits_of(y[i]), bits_of(-y[i + 1])) << x[i];
}

TEST_P(Softcap, EndsAtTheCap) {
    c.set(30.0f);
    const std::vector<float> y = softcap({infinity, -infinity, 1e30f, -1e30f, 0.0f});
    EXPECT_EQ(y[0], 30.0f);
    EXPECT_EQ(y[1], -30.0f);
    EXPECT_EQ(y[2], 30.0f);
    EXPECT_EQ(y[3], -30.0f);
    EXPECT_EQ(y[4], 0.0f);
}

// Also where 1 / c is no normal number.
TEST_P(Softcap, TakesTheSmallestAndTheLargestOfCaps) {
    c.set(1e-40f);
    for (float y : softcap({0.0f, 1.0f, -1.0f}))
        EXPECT_LE(std::abs(y), 1.2e-38f);
    c.set(3e38f);
    const std::vector<float> x = {0.0f, 1.0f, 7.0f, -50.0f, 1e30f}, y = softcap(x);
    for (size_t i = 0; i < x.size(); i++)
        EXPECT_NEAR(y[i], x[i], 1e-6f * std::abs(x[i]));
}

TEST_P(Softcap, IsNanForEveryNan) {
    c.set(30.0f);
    const std::vector<float> x = all_kinds_of_nan(), y = softcap(x);
    for (size_t i = 0; i < x.size(); i++)
        EXPECT_TRUE(std::isnan(y[i])) << "NaN of bits " << std::hex << bits_of(x[i]) << " gave " << y[i];
}

} // namespace
} // namespace attune::test::softcap_test
