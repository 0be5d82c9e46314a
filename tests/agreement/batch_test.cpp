// A batch item's result doesn't depend on what else is in the batch, nor on how its tensors lie in memory.
#include "agreement_test.h"

namespace attune::test {
namespace {

ATTUNE_AGREEMENT_SUITE(Batch);

TEST_P(Batch, AnItemAloneGivesTheSameBits) {
    for (const AttentionProblem &p : problems()) {
        const AttentionRun whole = run(p);
        for (int64_t b = 0; b < p.batch(); b++) {
            AttentionRun item = whole;
            item.out = whole.out.item(b), item.lse = whole.lse.item(b), item.weights = whole.weights.item(b);
            SCOPED_TRACE(::testing::Message() << "item " << b << " of " << describe(p));
            expect_same_bits(run(batch_item(p, b)), item);
        }
    }
}

/** Other items full of NaN, and other items of other lengths. */
TEST_P(Batch, WhatTheOtherItemsHoldChangesNoBit) {
    AttentionProblem p = normal_problem(shape(37, 65, 3, 2, 1), random);
    p.mask = "causal", p.offsets = {28, 28, 28}, p.key_lengths = {65, 50, 65};
    const AttentionRun clean = run(p);
    for (const Tensor<float> &x : {p.q, p.k, p.v})
        x.item(0).fill(NAN), x.item(2).fill(INFINITY);
    p.offsets = {-100, 28, 1000}, p.key_lengths = {1, 50, 0};
    const AttentionRun spoilt = run(p);
    ASSERT_TRUE(spoilt.status.ok()) << spoilt.status.message;
    EXPECT_TRUE(same_bits(spoilt.out.item(1), clean.out.item(1)));
    EXPECT_TRUE(same_bits(spoilt.lse.item(1), clean.lse.item(1)));
    EXPECT_TRUE(same_bits(spoilt.weights.item(1), clean.weights.item(1)));
}

TEST_P(Batch, GroupedHeadsGiveTheBitsOfRepeatedOnes) {
    AttentionProblem grouped = normal_problem(shape(37, 65, 2, 1, 1), random);
    const AttentionRun one = run(grouped);
    grouped.q = grouped.q.broadcast({2, 3, 37, grouped.dim()});
    const AttentionRun three = run(grouped);
    ASSERT_TRUE(three.status.ok()) << three.status.message;
    for (int64_t h = 0; h < 3; h++)
        for (int64_t i = 0; i < 37; i++)
            for (int64_t d = 0; d < grouped.value_dim(); d++)
                ASSERT_EQ(three.out(1, h, i, d), one.out(1, 0, i, d));
}

TEST_P(Batch, AnyLayoutGivesTheSameBits) {
    for (const AttentionProblem &p : problems()) {
        const AttentionRun contiguous = run(p);
        for (const Layout &layout : {Layout::tokens_first(), Layout::tokens_first(1), Layout::heads_first(13)}) {
            AttentionProblem strided = p;
            strided.q = p.q.laid_out(layout), strided.k = p.k.laid_out(layout), strided.v = p.v.laid_out(layout);
            if (p.bias) strided.bias = p.bias->laid_out({{0, 1, 3, 2}, 2});
            if (p.boolean_mask) strided.boolean_mask = p.boolean_mask->laid_out({{3, 2, 1, 0}, 1});
            SCOPED_TRACE(describe(p));
            expect_same_bits(run_attention(kernel(), strided, {true, true, layout, Call(1)}), contiguous);
        }
    }
}

TEST_P(Batch, BroadcastInputsGiveTheBitsOfRepeatedOnes) {
    AttentionProblem p = normal_problem(shape(37, 65, 1, 1, 1), random);
    p.q = p.q.broadcast({3, 2, 37, p.dim()}), p.k = p.k.broadcast({3, 2, 65, p.dim()}), p.v = p.v.broadcast({3, 2, 65, p.value_dim()});
    AttentionProblem repeated = p;
    repeated.q = p.q.laid_out({}), repeated.k = p.k.laid_out({}), repeated.v = p.v.laid_out({});
    expect_same_bits(run(p), run(repeated));
}

} // namespace
} // namespace attune::test
