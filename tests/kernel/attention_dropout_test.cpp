// Every attention kernel with dropout: the weights that Philox says, whatever schedule, tile, thread or block computes them.
#include "attention_test.h"

#include "kernels.h"

namespace attune::test {
namespace {

ATTUNE_ATTENTION_SUITE(AttentionDropout);

TEST_P(AttentionDropout, DropsWhatTheGeneratorSays) {
    for (float p : {0.1f, 0.5f, 0.9f, 1e-6f})
        for (uint64_t seed : {uint64_t(0), uint64_t(1), uint64_t(0xfedcba9876543210)}) {
            AttentionProblem problem_ = problem(25, 49, 2, 4, 2);
            problem_.dropout = p, problem_.seed = seed;
            expect_right(problem_);
        }
}

TEST_P(AttentionDropout, CountsKeysAndQueriesFromTheFirst) {
    const int64_t n = large();
    for (const char *mask : {"none", "causal", "window(40, 0)", "causal & !prefix(70)"}) {
        AttentionProblem p = problem(n, n, 1, 2);
        p.mask = mask, p.dropout = 0.3f, p.seed = 77;
        expect_right(p);
    }
}

TEST_P(AttentionDropout, WithEverythingElse) {
    AttentionProblem p = problem(30, 45, 2, 4, 2);
    p.mask = "causal | prefix(6)", p.offsets = {15, 3}, p.key_lengths = {45, 31}, p.boolean_mask = boolean_mask({2, 1, 30, 45});
    p.bias = bias({1, 4, 1, 45}), p.softcap = 2.5f, p.temperature = 0.7f, p.alibi = true, p.dropout = 0.4f, p.seed = 5;
    p.sinks = Tensor<float>({4});
    p.sinks->fill(0.5f);
    expect_right(p);
}

TEST_P(AttentionDropout, LeavesTheLogSumExpAlone) {
    AttentionProblem p = problem(25, 49);
    const AttentionRun plain = run_attention(kernel(), p);
    p.dropout = 0.5f, p.seed = 9;
    const AttentionRun dropped = run_attention(kernel(), p);
    ASSERT_TRUE(plain.status.ok() && dropped.status.ok()) << dropped.status.message;
    EXPECT_TRUE(same_bits(dropped.lse, plain.lse));
    EXPECT_FALSE(same_bits(dropped.out, plain.out));
}

/** The same weights are zero in every schedule, and for any number of threads. */
TEST(AttentionDropoutAgreement, EverySchedulesDropsTheSame) {
    Random random(current_test_seed());
    AttentionProblem p = normal_problem({2, 4, 2, 70, 90, 64, 64}, random);
    p.dropout = 0.37f, p.seed = 123456789012345, p.mask = "causal(bottom_right)";
    std::vector<float> first;
    for (const std::string &schedule : schedules_of("attention"))
        for (int32_t threads : {1, 3}) {
            const AttentionRun run = run_attention(schedule, p, {true, true, {}, Call(threads)});
            ASSERT_TRUE(run.status.ok()) << run.status.message;
            std::vector<float> zero = run.weights.values();
            for (float &weight : zero)
                weight = weight == 0;
            if (first.empty()) first = zero;
            EXPECT_EQ(zero, first) << schedule;
        }
}

} // namespace
} // namespace attune::test
