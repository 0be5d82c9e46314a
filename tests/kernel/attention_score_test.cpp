// Every attention kernel with biases by distance, sinks, and the scores as an output.
#include "attention_test.h"

namespace attune::test {
namespace {

ATTUNE_ATTENTION_SUITE(AttentionScores);

T5Bias t5(Random &random, int64_t buckets, int64_t heads, int64_t max_distance, bool bidirectional) {
    T5Bias bias = {max_distance, bidirectional, Tensor<float>({buckets, heads})};
    random.fill_normal(bias.table);
    return bias;
}

Tensor<float> sinks(Random &random, int64_t heads) {
    const Tensor<float> tensor({heads});
    random.fill_normal(tensor, 2);
    return tensor;
}

TEST_P(AttentionScores, AlibiOfAnyNumberOfHeads) {
    for (int64_t heads : {1, 3, 6, 8, 12}) {
        AttentionProblem p = problem(33, 33, 1, heads);
        p.alibi = true;
        expect_right(p);
    }
}

TEST_P(AttentionScores, AlibiWhereverQueriesStand) {
    AttentionProblem p = problem(13, 41, 3, 4, 2);
    p.alibi = true, p.mask = "causal";
    for (int64_t offset : {int64_t(0), int64_t(28), int64_t(-7), int64_t(100000)}) {
        p.offset = offset;
        expect_right(p);
    }
    p.offset.reset(), p.offsets = {28, 0, -5};
    expect_right(p);
    p.offsets.clear(), p.mask = "causal(bottom_right)";
    for (const char *alignment : {"top_left", "bottom_right"}) {
        p.alignment = alignment;
        expect_right(p);
    }
}

TEST_P(AttentionScores, AlibiOverManyBlocks) {
    const int64_t n = large();
    for (const char *mask : {"none", "causal", "window(60, 0)"}) {
        AttentionProblem p = problem(n, n, 1, 2);
        p.alibi = true, p.mask = mask;
        expect_right(p);
    }
}

TEST_P(AttentionScores, T5Buckets) {
    for (bool bidirectional : {true, false})
        for (auto [buckets, max_distance] : {std::pair<int64_t, int64_t>{32, 128}, {8, 20}, {4, 5}}) {
            AttentionProblem p = problem(41, 41, 2, 4, 2);
            p.t5 = t5(random, buckets, 4, max_distance, bidirectional);
            expect_right(p);
        }
}

TEST_P(AttentionScores, T5WhereverQueriesStand) {
    AttentionProblem p = problem(13, 70, 2, 4, 2);
    p.t5 = t5(random, 16, 4, 40, true), p.offsets = {57, -3};
    expect_right(p);
    p.offsets.clear(), p.alignment = "bottom_right";
    expect_right(p);
}

TEST_P(AttentionScores, AllBiasesTogether) {
    AttentionProblem p = problem(30, 45, 2, 4, 2);
    p.softcap = 2, p.alibi = true, p.t5 = t5(random, 16, 4, 40, false), p.bias = bias({1, 4, 30, 45}), p.offsets = {15, 3};
    p.mask = "causal | prefix(5)", p.temperature = 0.7f, p.sinks = sinks(random, 4);
    expect_right(p);
}

TEST_P(AttentionScores, Sinks) {
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 33}, {25, 49}, {13, 1}}) {
        AttentionProblem p = problem(queries, keys, 2, 4, 2);
        p.sinks = sinks(random, 4);
        expect_right(p);
        p.temperature = 0.5f; // divides scores, not sinks
        expect_right(p);
    }
    AttentionProblem p = problem(25, 49);
    p.sinks = Tensor<float>({2});
    for (float level : {-1e4f, 1e4f, -INFINITY}) {
        p.sinks->fill(level);
        expect_right(p, {false, 0});
    }
}

TEST_P(AttentionScores, SinksOfRowsThatAttendToNothing) {
    AttentionProblem p = problem(49, 13, 2, 4, 2);
    p.mask = "causal(bottom_right)", p.sinks = sinks(random, 4);
    expect_right(p);
    p.mask = "none", p.key_lengths = {0, 5};
    expect_right(p);
    p = problem(13, 0, 2, 4, 2);
    p.sinks = sinks(random, 4);
    expect_right(p);
}

// As T falls, the weights go to the largest score: also where that over T is no finite float.
TEST_P(AttentionScores, SinksBesideScoresThatOverflowOverT) {
    AttentionProblem p = problem(3, 20);
    add_overflow_beside_sinks(p, 7);
    const AttentionRun run = run_attention(kernel(), p);
    ASSERT_TRUE(run.status.ok()) << run.status.message;
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 3; i++) {
            EXPECT_EQ(run.lse(0, h, i), INFINITY);
            for (int j = 0; j < 20; j++)
                EXPECT_EQ(run.weights(0, h, i, j), j == 7 ? 1 : 0) << "key " << j;
            for (int64_t d = 0; d < p.value_dim(); d++)
                EXPECT_EQ(run.out(0, h, i, d), p.v(0, h * p.v.extent[1] / 2, 7, d)) << "channel " << d;
        }
}

TEST_P(AttentionScores, SinksOfAnyNumberTakeARowOfNothing) {
    for (float sink : {INFINITY, float(NAN)}) {
        AttentionProblem p = problem(5, 20);
        p.mask = "prefix(0)", p.sinks = Tensor<float>({2});
        p.sinks->fill(sink);
        const AttentionRun run = run_attention(kernel(), p);
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        for (float lse : run.lse.values())
            EXPECT_TRUE(std::isnan(sink) ? std::isnan(lse) : lse == sink) << lse;
        for (float out : run.out.values())
            EXPECT_EQ(out, 0);
        for (float weight : run.weights.values())
            EXPECT_EQ(weight, 0);
    }
}

TEST_P(AttentionScores, ScoresOfEachStage) {
    AttentionProblem p = problem(25, 49, 2, 4, 2);
    expect_scores_match_oracle(kernel(), p);
    p.softcap = 1.5f, p.bias = bias({1, 4, 1, 49}), p.mask = "causal & !window(3, 3)", p.offset = 11, p.temperature = 0.3f;
    p.alibi = true, p.sinks = sinks(random, 4), p.key_lengths = {40, 49}, p.boolean_mask = boolean_mask({2, 1, 25, 49});
    expect_scores_match_oracle(kernel(), p);
}

} // namespace
} // namespace attune::test
