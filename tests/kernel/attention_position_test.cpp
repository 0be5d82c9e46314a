// Every attention kernel with positions of q and k.
#include "attention_test.h"

namespace attune::test {
namespace {

ATTUNE_ATTENTION_SUITE(AttentionPositions);

TEST_P(AttentionPositions, RotaryOfEitherLayoutAndAnyWidth) {
    for (bool interleaved : {false, true})
        for (int64_t width : {0, 2, 12}) {
            AttentionProblem p = problem(33, 33, 2, 4, 2);
            p.rotary = Rotary{interleaved, 10000, width};
            expect_right(p);
        }
}

TEST_P(AttentionPositions, RotaryWhereverQueriesStand) {
    AttentionProblem p = problem(13, 41, 2, 4, 2);
    p.rotary = Rotary{false, 500000, 0}, p.mask = "causal";
    for (int64_t offset : {int64_t(0), int64_t(28), int64_t(-7)}) {
        p.offset = offset;
        expect_right(p);
    }
    p.offset.reset(), p.offsets = {28, 3};
    expect_right(p);
    p.offsets.clear(), p.mask = "causal(bottom_right)", p.alignment = "bottom_right";
    expect_right(p);
}

TEST_P(AttentionPositions, PositionsGivenOneByOne) {
    AttentionProblem p = problem(35, 41, 2, 4, 2);
    p.rotary = Rotary{true, 10000, 0};
    for (int64_t token = 0; token < 35; token++)
        p.positions.push_back(token * token % 12);
    for (int64_t token = 41; token > 0; token--)
        p.key_positions.push_back(token - 1);
    expect_right(p);
    p = problem(37, 37, 2, 4, 2);
    p.rotary = Rotary{};
    for (int64_t token = 0; token < 37; token++)
        p.positions.push_back(token % 5); // of queries and keys
    expect_right(p);
}

TEST_P(AttentionPositions, LearnedRows) {
    AttentionProblem p = problem(13, 20);
    p.learned = Tensor<float>({30, p.dim()});
    random.fill_normal(*p.learned);
    p.offset = 7;
    expect_right(p);
    p.positions.assign(13, 29);
    expect_right(p);
}

TEST_P(AttentionPositions, WithBiasesMasksAndScores) {
    AttentionProblem p = problem(25, 49, 2, 4, 2);
    p.rotary = Rotary{}, p.alibi = true, p.mask = "causal", p.offset = 24, p.softcap = 4;
    expect_right(p);
    expect_scores_match_oracle(kernel(), p);
}

TEST_P(AttentionPositions, InStridedMemory) {
    AttentionProblem p = normal_problem(shape(25, 49, 2, 4, 2), random, Layout::tokens_first(3));
    p.rotary = Rotary{}, p.offset = 24;
    expect_right(p);
}

/** A NaN in a masked key stays there, though all of k is turned. */
TEST_P(AttentionPositions, WhatIsMaskedDoesntCount) {
    AttentionProblem p = problem(25, 49);
    p.rotary = Rotary{}, p.offset = 24, p.key_lengths = {40};
    const AttentionRun clean = run_attention(kernel(), p);
    p.k(0, 0, 44, 1) = NAN;
    const AttentionRun spoilt = run_attention(kernel(), p);
    ASSERT_TRUE(spoilt.status.ok()) << spoilt.status.message;
    EXPECT_TRUE(same_bits(spoilt.out, clean.out));
}

} // namespace
} // namespace attune::test
