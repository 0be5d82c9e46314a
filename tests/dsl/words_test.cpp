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

/** Counts stores to every second place, and vectors put one into the other. */
class CountApart : public Halide::Internal::IRMutator {
public:
    explicit CountApart(int &count) : count(count) {}

private:
    using Halide::Internal::IRMutator::visit;
    int &count;

    Halide::Internal::Stmt visit(const Halide::Internal::Store *op) override {
        const auto *ramp = op->index.as<Halide::Internal::Ramp>();
        count += ramp && !is_const_one(ramp->stride);
        return IRMutator::visit(op);
    }
    Halide::Expr visit(const Halide::Internal::Shuffle *op) override {
        count += op->is_interleave();
        return IRMutator::visit(op);
    }
};

/** Upper halves that are stored one beside the other go as words, all at once: with a name for something between the stores or without. */
TEST_P(Words, AreStoredFromUpperHalves) {
    const int lanes = GetParam(), vectors = 3;
    Halide::Buffer<uint32_t> words(2, vectors * lanes);
    for (int i = 0; i < vectors * lanes; i++)
        words(0, i) = uint32_t(1000 + i) << 16 | 0xfffeu, words(1, i) = uint32_t(7000 + i) << 16 | uint32_t(i);
    for (bool named : {false, true})
        for (bool reversed : {false, true}) {
            Halide::Var at("at");
            Halide::Func stored("stored");
            Halide::RDom r(0, 2, 0, lanes, 0, vectors);
            const Halide::Expr which = reversed ? 1 - r.x : Halide::Expr(r.x), i = r.z * lanes + r.y, word = Halide::Func(words)(which, i);
            stored(at) = Halide::cast<uint16_t>(0);
            stored(2 * i + which) = dsl::upper_half_of(named ? word + (word & Halide::Expr(0xffffu)) : word);
            stored.update().allow_race_conditions().reorder(r.x, r.y, r.z).unroll(r.x).vectorize(r.y);
            Halide::Pipeline pipeline(stored);
            int apart = 0;
            dsl::lower_words(pipeline);
            pipeline.add_custom_lowering_pass(new CountApart(apart));
            const Halide::Buffer<uint16_t> got = pipeline.realize({2 * vectors * lanes}, runnable_targets().front());
            if (!reversed) EXPECT_EQ(apart, 0) << named;
            for (int e = 0; e < 2 * vectors * lanes; e++)
                EXPECT_EQ(got(e), (e % 2 == 0 ? 1000 + named : 7000) + e / 2) << e;
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
