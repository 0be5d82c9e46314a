// Passes over the vectors of a value.
#include "dsl/decode/value_passes.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace attune::test::value_passes_test {
namespace {

struct Dealing {
    int most, vectors_per_line, depth;
};

struct Pass {
    int first, vectors;
    bool takes_rest;
};

/** In order, where `symbol` is so much. */
std::vector<Pass> passes_where(const Halide::Var &symbol, int value, const std::vector<dsl::ValuePasses> &passes) {
    std::vector<Pass> all;
    for (const dsl::ValuePasses &p : passes) {
        const auto known = [&](const Halide::Expr &e) {
            const auto number = Halide::Internal::as_const_int(Halide::Internal::simplify(substitute(symbol.name(), value, e)));
            EXPECT_TRUE(number.has_value()) << e;
            return int(number.value_or(0));
        };
        for (int i = 0; i < known(p.count); i++)
            all.push_back({known(p.first) + i * p.at_once, p.at_once, p.take_rest});
    }
    std::sort(all.begin(), all.end(), [](const Pass &a, const Pass &b) { return a.first < b.first; });
    return all;
}

class ValuePasses : public ::testing::TestWithParam<Dealing> {
protected:
    /** Of a value of so many vectors. */
    static std::vector<Pass> passes_of(int whole) {
        const auto [most, vectors_per_line, depth] = GetParam();
        const Halide::Var symbol("whole");
        return passes_where(symbol, whole, dsl::value_passes(symbol, most, vectors_per_line, depth));
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

TEST(ValuePassesWithRest, ItIsTheLastVectorOfTheOnlyPassOrReadAlone) {
    constexpr int lanes = 16, most = 8;
    const Halide::Var width("width");
    for (int vectors_per_line : {1, 2}) {
        const auto passes = dsl::value_passes(width / lanes, most, vectors_per_line, 1, width % lanes != 0);
        for (int channels = 0; channels <= 80 * lanes; channels++) {
            const int whole = channels / lanes;
            const bool has_rest = channels % lanes != 0, joins = has_rest && whole < most;
            const std::vector<Pass> all = passes_where(width, channels, passes);
            EXPECT_EQ(int(all.size()), joins ? 1 : (whole + most - 1) / most + (has_rest ? 1 : 0)) << channels;
            int next = 0;
            for (size_t i = 0; i < all.size(); i++) {
                EXPECT_EQ(all[i].first, next) << channels;
                EXPECT_LE(all[i].vectors, most) << channels;
                EXPECT_EQ(all[i].takes_rest, has_rest && i + 1 == all.size()) << channels;
                next += all[i].vectors;
            }
            EXPECT_EQ(next, whole + (has_rest ? 1 : 0)) << channels;
        }
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
