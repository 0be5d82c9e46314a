// Words of two neighbours: pairs of the 16-bit elements of two rows, and elements apart.
#include "bits.h"
#include "dsl/words.h"
#include "targets.h"

#include <gtest/gtest.h>

namespace attune::test::words_test {
namespace {

class Words : public ::testing::TestWithParam<int> {}; // lanes

int constant(const Halide::Expr &e) { return int(Halide::Internal::as_const_int(Halide::Internal::simplify(e)).value_or(-1)); }

/** Every element of two rows is where PairedElement says, the first row's below, whether the half is known when code is made or not. */
TEST_P(Words, ArePairedWhereElementsAreLookedFor) {
    const int lanes = GetParam(), elements = 2 * lanes;
    Halide::Buffer<uint32_t> first(lanes), second(lanes);
    for (int i = 0; i < lanes; i++) {
        first(i) = uint32_t(100 + 2 * i) | uint32_t(100 + 2 * i + 1) << 16;
        second(i) = uint32_t(5000 + 2 * i) | uint32_t(5000 + 2 * i + 1) << 16;
    }
    for (bool unrolled : {true, false}) {
        Halide::Var lane("lane"), vector("vector");
        Halide::Func pairs("pairs");
        pairs(lane, vector) = dsl::pairs_of_words(Halide::Func(first)(lane), Halide::Func(second)(lane), vector);
        pairs.bound(lane, 0, lanes).bound(vector, 0, 2).vectorize(lane);
        if (unrolled) pairs.unroll(vector);
        Halide::Pipeline pipeline(pairs);
        dsl::lower_words(pipeline);
        const Halide::Buffer<uint32_t> got = pipeline.realize({lanes, 2}, runnable_targets().back());
        for (int e = 0; e < elements; e++) {
            const dsl::PairedElement at(e, lanes);
            EXPECT_EQ(got(constant(at.lane), constant(at.vector)), uint32_t(100 + e) | uint32_t(5000 + e) << 16) << e;
            const dsl::PairedElement later(elements + e, lanes);
            EXPECT_EQ(constant(later.vector), constant(at.vector) + 2);
            EXPECT_EQ(constant(later.lane), constant(at.lane));
        }
    }
}

/** Every element of words is where SplitElement says, as f32, whether the half is known when code is made or not. */
TEST_P(Words, AreSplitIntoElements) {
    const int lanes = GetParam(), elements = 2 * lanes;
    Halide::Buffer<uint32_t> words(lanes);
    for (int i = 0; i < lanes; i++)
        words(i) = bits_of(float(2 * i)) >> 16 | bits_of(float(2 * i + 1));
    for (bool unrolled : {true, false}) {
        Halide::Var lane("lane"), vector("vector");
        Halide::Func split("split");
        split(lane, vector) = dsl::bfloat16_of_words(Halide::Func(words)(lane), vector);
        split.bound(lane, 0, lanes).bound(vector, 0, 2).vectorize(lane);
        if (unrolled) split.unroll(vector);
        const Halide::Buffer<float> got = split.realize({lanes, 2}, runnable_targets().back());
        for (int e = 0; e < elements; e++) {
            const dsl::SplitElement at(e, lanes), later(3 * elements + e, lanes);
            EXPECT_EQ(got(constant(at.lane), constant(at.vector)), float(e));
            EXPECT_EQ(constant(later.vector), constant(at.vector) + 6);
            EXPECT_EQ(constant(dsl::split_element(later.vector, later.lane, lanes)), 3 * elements + e);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Words, ::testing::Values(4, 8, 16, 32));

TEST(WordsOfNoGroup, AreRefused) {
    Halide::Var lane("lane");
    Halide::Func pairs("pairs");
    pairs(lane) = dsl::pairs_of_words(Halide::cast<uint32_t>(lane), Halide::cast<uint32_t>(lane), 0);
    pairs.bound(lane, 0, 6).vectorize(lane);
    Halide::Pipeline pipeline(pairs);
    dsl::lower_words(pipeline);
    EXPECT_THROW(pipeline.realize({6}, runnable_targets().back()), Halide::Error);
}

} // namespace
} // namespace attune::test::words_test
