// dsl::sin_turns and dsl::cos_turns.
#include <cmath>

#include "dsl/numeric.h"
#include "targets.h"

#include <gtest/gtest.h>

namespace attune::test::angle_test {
namespace {

constexpr double two_pi = 6.283185307179586476925287;

class Angle : public ::testing::TestWithParam<Halide::Target> {
protected:
    /** Turns of positions up to 1,000,000 at rotary's frequencies, and the ends of quarter turns, both signs. */
    static std::vector<double> turns() {
        std::vector<double> t;
        for (double base : {500.0, 10000.0, 500000.0})
            for (int pair = 0; pair < 64; pair += 3)
                for (int64_t position : {0, 1, 2, 3, 10, 127, 1000, 4095, 65535, 131071, 524287, 999999, 1000000})
                    t.push_back(position * std::pow(base, -2.0 * pair / 128) / two_pi);
        for (int quarter = 0; quarter < 12; quarter++)
            for (double nudge : {-1e-9, -1e-16, 0.0, 1e-16, 1e-9})
                t.push_back(0.25 * quarter + nudge);
        for (size_t i = 0, n = t.size(); i < n; i++)
            t.push_back(-t[i]);
        return t;
    }

    template <typename F, typename G> void expect_close(F declared, G exact) const {
        std::vector<double> t = turns();
        const Halide::Buffer<double> in(t.data(), static_cast<int>(t.size()));
        Halide::Var i("i");
        Halide::Func f("f");
        f(i) = declared(in(i));
        const Halide::Buffer<float> y = f.vectorize(i, 8).realize({static_cast<int>(t.size())}, GetParam());
        for (size_t n = 0; n < t.size(); n++) {
            const double part = t[n] - std::nearbyint(t[n]);
            ASSERT_NEAR(y(static_cast<int>(n)), exact(two_pi * part), 2e-7) << t[n] << " turns";
        }
    }
};

std::string name(const ::testing::TestParamInfo<Halide::Target> &info) { return name_of_target(info.param); }
INSTANTIATE_TEST_SUITE_P(Targets, Angle, ::testing::ValuesIn(runnable_targets()), name);

TEST_P(Angle, SineIsCloseUpToPositionOneMillion) {
    expect_close(dsl::sin_turns, [](double a) { return std::sin(a); });
}

TEST_P(Angle, CosineIsCloseUpToPositionOneMillion) {
    expect_close(dsl::cos_turns, [](double a) { return std::cos(a); });
}

} // namespace
} // namespace attune::test::angle_test
