// dsl::natural_log.
#include <cmath>

#include "bits.h"
#include "compare.h"
#include "dsl/numeric.h"
#include "elementwise.h"

namespace attune::test::log_test {
namespace {

class NaturalLog : public EachTarget {
protected:
    Elementwise log{GetParam(), [](const Halide::Expr &x) { return dsl::natural_log(x); }};
};

INSTANTIATE_TEST_SUITE_P(Targets, NaturalLog, ::testing::ValuesIn(runnable_targets()), target_in_test_name);

TEST_P(NaturalLog, IsCloseOverAllNormalNumbers) {
    std::vector<float> x;
    for (uint32_t bits = bits_of(std::numeric_limits<float>::min()); bits < bits_of(infinity); bits += 1021)
        x.push_back(from_bits(bits));
    const std::vector<float> y = log(x);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); i++) {
        const double want = std::log(double(x[i])), off = std::abs(y[i] - want) / ulp_at(want);
        if (!(off <= worst)) worst = off, at = x[i];
    }
    EXPECT_LE(worst, 1) << "natural_log(" << at << ")";
}

TEST_P(NaturalLog, IsRightForDenormals) {
    const std::vector<float> x = {from_bits(1), from_bits(2), from_bits(12345), from_bits(0x7fffff)}, y = log(x);
    for (size_t i = 0; i < x.size(); i++)
        EXPECT_NEAR(y[i], std::log(double(x[i])), ulp_at(std::log(double(x[i])))) << x[i];
}

TEST_P(NaturalLog, FollowsIeeeAtTheEnds) {
    const std::vector<float> y = log({0.0f, 1.0f, infinity});
    EXPECT_EQ(y[0], -infinity);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], infinity);
    for (float nan : log(all_kinds_of_nan()))
        EXPECT_TRUE(std::isnan(nan));
}

} // namespace
} // namespace attune::test::log_test
