// What split-KV attention on a GPU adds to the others: keys in several chunks, rows of several query heads, and Attune's choice of it.
#include "attention_kernel_test.h"

#include <cmath>
#include <string>
#include <tuple>

namespace attune::test {
namespace {

constexpr int64_t chunk = 128; // keys, of up to 16384

class SplitKv : public CudaAttentionTest {};
INSTANTIATE_TEST_SUITE_P(Prebuilt, SplitKv, ::testing::ValuesIn(attention_kernels_on_cuda("split_kv")), kernel_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SplitKv);

TEST_P(SplitKv, AroundTheChunks) {
    for (int64_t keys : {chunk - 1, chunk, chunk + 1, 2 * chunk + 1, 5 * chunk - 63})
        expect_right(problem(1, keys));
    expect_right(problem(1, 33 * chunk + 1)); // more than are merged at once
}

/** Of 192 keys here. That few of them are attended to spares the emulator the others. */
TEST_P(SplitKv, LongerChunksOfMoreKeys) {
    // How keys are cut depends on neither; and the yardstick of f32 takes seconds for so many.
    if (kernel().head_dim != 64 || type() == ATTUNE_F32) GTEST_SKIP() << "16-bit types of one width are enough";
    AttentionProblem p = problem(1, 16384 + 200, 1, 1, 1);
    p.key_lengths = {700};
    expect_right(p);
    p.key_lengths = {16384 + 150}, p.mask = "window(600, 0, bottom_right)";
    expect_right(p);
}

/** Of one to three tiles of 16 rows. */
TEST_P(SplitKv, RowsAreQueriesAndTheirHeads) {
    for (auto [queries, heads, key_heads] :
         {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {8, 2, 2}, {2, 16, 2}, {1, 16, 1}, {5, 6, 2}, {1, 21, 1}, {3, 14, 1}})
        expect_right(problem(queries, 300, 2, heads, key_heads));
}

TEST_P(SplitKv, MasksThatReachSomeChunks) {
    for (const char *mask : {"causal(bottom_right)", "window(100, 0, bottom_right)", "window(10, 150, top_left)",
                             "causal(bottom_right) & window(400, 3, top_left)"}) {
        AttentionProblem p = problem(4, 600, 1, 6, 2);
        p.mask = mask;
        expect_right(p);
    }
}

TEST_P(SplitKv, LengthsAndOffsetsOfEachItem) {
    AttentionProblem p = problem(3, 600, 6, 4, 2);
    p.key_lengths = {600, 0, 1, chunk, chunk + 1, 3 * chunk - 1};
    expect_right(p);
    p.mask = "causal", p.offsets = {597, 3, -2, 100, 300, -1000000};
    expect_right(p);
}

TEST_P(SplitKv, ScoresOfEveryKind) {
    AttentionProblem p = problem(3, 300, 1, 6, 2);
    p.softcap = 2;
    expect_right(p);
    p.scale = -0.3f, p.temperature = 0.5f;
    expect_right(p);
    p.softcap = 0, p.offset = 295, p.alibi = true;
    expect_right(p);
    p.bias = Tensor<float>({1, 6, 3, 300});
    random.fill_normal(*p.bias, 2);
    p.sinks = Tensor<float>({6});
    random.fill_normal(*p.sinks, 1);
    expect_right(p);
}

TEST_P(SplitKv, MinusInfinityInABiasMasksWholeChunks) {
    AttentionProblem p = problem(2, 4 * chunk, 1, 4, 2);
    p.bias = Tensor<float>({1, 4, 2, 4 * chunk});
    for (int64_t h = 0; h < 4; h++)
        for (int64_t i = 0; i < 2; i++)
            for (int64_t j = 0; j < 4 * chunk; j++)
                (*p.bias)(0, h, i, j) = (h == 3 && i == 0) || j / chunk == (h + i) % 4 ? -INFINITY : 0.25f;
    expect_right(p);
}

/** Chunks whose scores lie so far apart that the weight of one is lost beside the other's: finite values there change nothing, and what is
 * infinite or NaN shows. */
TEST_P(SplitKv, ChunksThatWeighNothing) {
    AttentionProblem p = problem(1, 2 * chunk + 5, 1, 4, 2);
    p.bias = Tensor<float>({1, 1, 1, 2 * chunk + 5});
    for (int64_t j = 0; j < 2 * chunk + 5; j++)
        (*p.bias)(0, 0, 0, j) = j / chunk == 1 ? 0.0f : -400.0f;
    expect_right(p);
    p.v(0, 0, 3, 1) = INFINITY, p.v(0, 0, 2 * chunk + 1, 2) = -INFINITY, p.v(0, 1, 3, 5) = NAN;
    const HalfRun got = run(p);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    const auto width = static_cast<size_t>(p.value_dim());
    EXPECT_EQ(got.out[1], INFINITY);
    EXPECT_EQ(got.out[2], -INFINITY);
    EXPECT_TRUE(std::isfinite(got.out[3]));
    EXPECT_TRUE(std::isnan(got.out[2 * width + 5])); // head 2 is the first of the second group
    EXPECT_TRUE(std::isfinite(got.out[2 * width + 1]));
}

TEST_P(SplitKv, WhatIsMaskedInOtherChunksChangesNoBit) {
    AttentionProblem p = problem(2, 400, 2, 4, 2);
    p.key_lengths = {150, 290};
    const HalfRun clean = run(p);
    for (float value : {NAN, INFINITY}) {
        AttentionProblem spoilt = p;
        spoilt.k = p.k.clone(), spoilt.v = p.v.clone();
        for (int64_t b = 0; b < 2; b++)
            for (int64_t j = p.key_lengths[static_cast<size_t>(b)]; j < 400; j++)
                spoil_key(spoilt, b, j, value);
        const HalfRun got = run(spoilt);
        EXPECT_EQ(got.out, clean.out) << value;
        EXPECT_EQ(got.lse, clean.lse) << value;
    }
}

TEST_P(SplitKv, WhatIsAttendedShows) {
    AttentionProblem p = problem(3, 400, 2, 4, 2);
    p.mask = "causal(bottom_right)";
    p.v(0, 0, 20, 2) = NAN, p.v(1, 1, 399, 1) = INFINITY, p.v(1, 1, 11, 1) = -INFINITY, p.v(0, 1, 300, 5) = INFINITY;
    p.k(0, 1, 398, 3) = NAN, p.q(1, 2, 1, 0) = NAN;
    const HalfRun got = run(p);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    const AttentionAnswer exact = attention_in_double(p);
    EXPECT_TRUE(agrees(got.out, exact.out, {0.05}, 0.2));
    EXPECT_TRUE(agrees(got.lse, exact.lse, {0.05}, 0.2));
}

TEST_P(SplitKv, AnItemsBitsDependOnNoOther) {
    AttentionProblem p = problem(2, 700, 3, 4, 2);
    p.key_lengths = {700, 130, 555};
    const HalfRun all = run(p);
    ASSERT_TRUE(all.status.ok()) << all.status.message;
    const size_t rows = 4 * 2, width = static_cast<size_t>(p.value_dim());
    for (int64_t b = 0; b < 3; b++) {
        const HalfRun alone = run(batch_item(p, b));
        const auto first = static_cast<size_t>(b) * rows;
        for (size_t i = 0; i < rows * width; i++)
            ASSERT_EQ(alone.out[i], all.out[first * width + i]) << b;
        for (size_t i = 0; i < rows; i++)
            ASSERT_EQ(alone.lse[i], all.lse[first + i]) << b;
    }
}

TEST_P(SplitKv, IsChosenForFewQueriesAndManyKeys) {
    AttentionDesc desc;
    desc.dtype = type(), desc.head_dim = head_dim_or(kernel(), any_width), desc.device = ATTUNE_CUDA;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    if (!plan.ok()) GTEST_SKIP() << "this build has no other: " << plan.status().message;
    const auto chosen = [&](int64_t queries, int64_t heads, int64_t kv_heads, int64_t keys) {
        return std::string(plan->kernel_for(queries, heads, kv_heads, keys)->schedule);
    };
    EXPECT_EQ(chosen(1, 32, 32, 512), "split_kv");
    EXPECT_EQ(chosen(1, 128, 8, 100000), "split_kv");
    EXPECT_EQ(chosen(2, 64, 8, 512), "split_kv");
    EXPECT_EQ(chosen(1, 32, 32, 511), plan->kernel().schedule);
    EXPECT_EQ(chosen(3, 64, 8, 512), plan->kernel().schedule);
    EXPECT_STRNE(plan->kernel().schedule, "split_kv");
}

} // namespace
} // namespace attune::test
