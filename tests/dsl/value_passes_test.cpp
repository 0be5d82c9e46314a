// Passes over the vectors of a value.
#include "dsl/decode/value_passes.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace attune::test::value_passes_test {
namespace {

struct Dealing {
    int most, vectors_per_line, depth;
};

class ValuePasses : public ::testing::TestWithParam<Dealing> {
protected:
    struct Pass {
        int first, vectors;
    };

    /** In order, of a value of so many vectors. */
    static std::vector<Pass> passes_of(int whole) {
        const auto [most, vectors_per_line, depth] = GetParam();
        const Halide::Var symbol("whole");
        std::vector<Pass> all;
        for (const dsl::ValuePasses &p : dsl::value_passes(symbol, most, vectors_per_line, depth)) {
            const auto known = [&](const Halide::Expr &e) {
                const auto value = Halide::Internal::as_const_int(Halide::Internal::simplify(substitute(symbol.name(), whole, e)));
                EXPECT_TRUE(value.has_value()) << e;
                return int(value.value_or(0));
            };
            for (int i = 0; i < known(p.count); i++)
                all.push_back({known(p.first) + i * p.at_once, p.at_once});
        }
        std::sort(all.begin(), all.end(), [](const Pass &a, const Pass &b) { return a.first < b.first; });
        return all;
    }
};

std::string name(const ::testing::TestParamInfo<Dealing> &info) {
    return std::to_string(info.param.most) + "_" + std::to_string(info.param.vectors_per_line) + "_" + std::to_string(info.param.depth);
}

INSTANTIATE_TEST_SUITE_P(Dealings, ValuePasses,
                         ::testing::Values(Dealing{8, 1, 1}, Dealing{8, 2, 1}, Dealing{4, 1, 1}, Dealing{4, 2, 2}, Dealing{2, 8, 2},
                                           Dealing{8, 4, 2}, Dealing{2, 2, 1}, Dealing{1, 1, 1}),
                         name);

TEST_P(ValuePasses, TakeEveryVectorOnceAndAreAsFewAsCanBe) {
    const auto [most, vectors_per_line, depth] = GetParam();
    for (int whole = 0; whole <= 80; whole += depth) {
        const std::vector<Pass> passes = passes_of(whole);
        if (vectors_per_line < most) {
            EXPECT_EQ(int(passes.size()), (whole + most - 1) / most) << whole;
        }
        int next = 0;
        for (const Pass &pass : passes) {
            EXPECT_EQ(pass.first, next) << whole;
            EXPECT_EQ(pass.vectors % depth, 0) << whole;
            if (vectors_per_line < most) {
                EXPECT_EQ(pass.first % vectors_per_line, 0) << whole;
            }
            next += pass.vectors;
        }
        EXPECT_EQ(next, whole);
    }
}

/** A width that is known has only the passes it takes, of which each is made into code. */
TEST_P(ValuePasses, OfAKnownWidthAreThoseItTakes) {
    const auto [most, vectors_per_line, depth] = GetParam();
    EXPECT_TRUE(dsl::value_passes(0, most, vectors_per_line, depth).empty());
    EXPECT_EQ(dsl::value_passes(4 * most, most, vectors_per_line, depth).size(), 1u);
    EXPECT_LE(dsl::value_passes(4 * most + depth, most, vectors_per_line, depth).size(), 2u);
}

} // namespace
} // namespace attune::test::value_passes_test
