// The attention kernels for CUDA, run through plans, against float64 by the rule of accuracy.
#include "attention_kernel_test.h"

#include <cmath>
#include <string>
#include <tuple>

namespace attune::test {
namespace {

class CudaAttention : public CudaAttentionTest {};
INSTANTIATE_TEST_SUITE_P(Prebuilt, CudaAttention, ::testing::ValuesIn(attention_kernels_on_cuda()), kernel_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaAttention);

TEST_P(CudaAttention, AroundTheTiles) {
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 1}, {1, 97}, {13, 33}, {64, 64}, {65, 129}, {130, 70}, {3, 700}})
        expect_right(problem(queries, keys));
}

TEST_P(CudaAttention, HeadsThatShareKeys) { expect_right(problem(21, 45, 2, 6, 2)); }

TEST_P(CudaAttention, UnderMasks) {
    for (const char *mask : {"causal", "window(9, 3)", "window(40, 0)", "causal & window(20, -1)"}) {
        AttentionProblem p = problem(141, 141);
        p.mask = mask;
        expect_right(p);
    }
}

TEST_P(CudaAttention, AtAnOffset) {
    for (auto [queries, keys, offset] :
         {std::tuple<int64_t, int64_t, int64_t>{13, 141, 100}, {100, 13, -20}, {70, 70, 1000}, {70, 70, -1000}}) {
        AttentionProblem p = problem(queries, keys);
        p.mask = "causal & window(30, 0)", p.offset = offset;
        expect_right(p);
    }
}

TEST_P(CudaAttention, LengthsAndOffsetsOfEachItem) {
    AttentionProblem p = problem(40, 100, 4, 2, 2);
    p.key_lengths = {100, 0, 1, 65};
    expect_right(p);
    p.mask = "causal", p.offsets = {60, 3, -1, 25};
    expect_right(p);
}

TEST_P(CudaAttention, ScoresOfEveryKind) {
    AttentionProblem p = problem(37, 75, 1, 6, 3);
    p.softcap = 2;
    expect_right(p);
    p.scale = -0.3f, p.temperature = 0.5f;
    expect_right(p);
    p.softcap = 0, p.offset = 11, p.alibi = true;
    expect_right(p);
    p.bias = Tensor<float>({1, 6, 1, 75});
    random.fill_normal(*p.bias, 2);
    expect_right(p);
    p.scale = 0.0f;
    expect_right(p);
}

/** By less than what makes a step rescale, from block to block or over several; by more in every block; and by more only in some rows. */
TEST_P(CudaAttention, ScoresThatGrow) {
    for (float growth : {0.03f, 0.08f, 1.0f, -1.0f}) {
        AttentionProblem p = problem(33, 330);
        p.bias = Tensor<float>({1, 1, 33, 330});
        for (int64_t i = 0; i < 33; i++)
            for (int64_t j = 0; j < 330; j++)
                (*p.bias)(0, 0, i, j) = growth * float(i % 3) * float(j);
        expect_right(p);
    }
}

TEST_P(CudaAttention, MinusInfinityInABiasMasks) {
    AttentionProblem p = problem(33, 70);
    p.bias = Tensor<float>({1, 1, 33, 70});
    p.bias->each([&](float &value) { value = random.chance(0.25) ? -INFINITY : 0.5f; });
    for (int64_t j = 0; j < 70; j++)
        (*p.bias)(0, 0, 7, j) = -INFINITY;
    expect_right(p);
}

TEST_P(CudaAttention, Sinks) {
    AttentionProblem p = problem(20, 40, 1, 4, 2);
    p.sinks = Tensor<float>({4});
    random.fill_normal(*p.sinks, 1);
    p.mask = "causal", p.offset = -5; // rows of the sink alone among them
    expect_right(p);
}

TEST_P(CudaAttention, TermsOfOtherAlignments) {
    for (const char *mask : {"causal(bottom_right) & causal(top_left)", "window(30, 3, top_left) & window(50, -1, bottom_right)"}) {
        AttentionProblem p = problem(20, 90);
        p.mask = mask;
        expect_right(p);
    }
}

TEST_P(CudaAttention, FarOffsets) {
    for (int64_t offset : {int64_t(1) << 29, -(int64_t(1) << 29)})
        for (const char *mask : {"causal", "window(5, -1)"}) {
            AttentionProblem p = problem(20, 20);
            p.mask = mask, p.offset = offset;
            expect_right(p);
        }
    AttentionProblem p = problem(20, 20, 3);
    p.mask = "causal", p.offsets = {INT32_MAX, INT32_MIN, 1000000000};
    expect_right(p);
}

TEST_P(CudaAttention, NumbersAtTheirEnds) {
    AttentionProblem p = problem(20, 70);
    for (auto [scale, temperature, cap] : {std::tuple<float, float, float>{0.1f, 1e-9f, 0},
                                           {0.1f, 1e-25f, 0},
                                           {1e10f, 1, 0},
                                           {0.0f, 1e20f, 0},
                                           {0.1f, 1e30f, 0},
                                           {0.1f, 1, 1e6f},
                                           {0.1f, 1, 3e38f},
                                           {0.1f, 1, 1e-3f}}) {
        p.scale = scale, p.temperature = temperature, p.softcap = cap;
        const HalfRun got = run(p);
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        EXPECT_TRUE(agrees(got.out, attention_in_double(p).out, {0.03})) << scale << " " << temperature << " " << cap;
    }
}

/** Finite though it be, a bias counts; so does a sink. */
TEST_P(CudaAttention, BiasesAndSinksAtTheirEnds) {
    for (float value : {-3.4028234e38f, 3e38f}) {
        AttentionProblem p = problem(5, 70);
        p.bias = Tensor<float>({1, 1, 1, 70});
        p.bias->each([&](float &bias) { bias = value; });
        const HalfRun got = run(p);
        EXPECT_TRUE(agrees(got.out, attention_in_double(p).out, {0.03})) << value;
        p.bias.reset();
        p.sinks = Tensor<float>({2});
        p.sinks->each([&](float &sink) { sink = value; });
        const HalfRun beside = run(p);
        EXPECT_TRUE(agrees(beside.out, attention_in_double(p).out, {0.03})) << value;
    }
}

/** As T falls, the weights go to the largest score: also where that over T is no finite float. */
TEST_P(CudaAttention, SinksBesideScoresThatOverflowOverT) {
    AttentionProblem p = problem(5, 70);
    add_overflow_beside_sinks(p, 41);
    const HalfRun got = run(p);
    EXPECT_TRUE(agrees(got.out, attention_in_double(p).out, {0.03}));
    for (double lse : got.lse)
        EXPECT_EQ(lse, INFINITY);
}

/** On tensor cores a value that isn't finite has a weight, however small. */
TEST_P(CudaAttention, InfinitiesBesideSinksFarAbove) {
    if (std::string(kernel().schedule) == "simt") GTEST_SKIP() << "weighs by f32, in which this is 0";
    AttentionProblem p = problem(5, 70);
    p.sinks = Tensor<float>({2});
    p.sinks->fill(200);
    p.v(0, 0, 7, 1) = INFINITY, p.v(0, 0, 9, 2) = -INFINITY, p.v(0, 0, 69, 3) = INFINITY; // the last in a block that isn't full
    const HalfRun got = run(p);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    for (size_t i = 0; i < got.out.size(); i++) {
        const size_t channel = i % static_cast<size_t>(p.value_dim());
        EXPECT_EQ(got.out[i], channel == 1 || channel == 3 ? INFINITY : channel == 2 ? -INFINITY : 0) << i;
    }
}

TEST_P(CudaAttention, MoreThanAGridHoldsIsRefused) {
    const AttentionProblem p = problem(1, 1, 1, 1);
    DeviceMemory memory;
    const HalfTensor one(type(), p.q);
    attune_tensor query = memory.upload(one.view()), key = memory.upload(one.view()), out = memory.upload(one.view());
    query.extent[1] = out.extent[1] = 66000; // more than there is of them: what is refused isn't touched
    const Status status = plan_of(p).value().run(AttentionArgs(query, key, key, out));
    EXPECT_NE(status.message.find("q has 66000 heads; on device cuda it must have at most 65535"), std::string::npos) << status.message;
}

TEST_P(CudaAttention, WithoutKeysAndWithoutQueries) {
    expect_right(problem(5, 0));
    const HalfRun empty = run(problem(0, 5));
    EXPECT_TRUE(empty.status.ok()) << empty.status.message;
}

TEST_P(CudaAttention, TheSameBitsWithoutTheLogSumExp) {
    const AttentionProblem p = problem(70, 90);
    EXPECT_EQ(run(p).out, run(p, false).out);
}

TEST_P(CudaAttention, WhatIsMaskedChangesNoBit) {
    expect_padding_changes_no_bit(problem(25, 97, 2, 4, 2), [this](const AttentionProblem &p) { return run(p); });
}

TEST_P(CudaAttention, WhatABiasMasksChangesNoBit) {
    AttentionProblem p = problem(25, 64, 1, 2, 1);
    p.bias = Tensor<float>({1, 1, 1, 64});
    p.bias->each([](float &bias) { bias = 0; });
    (*p.bias)(0, 0, 0, 5) = -INFINITY;
    const HalfRun clean = run(p);
    AttentionProblem spoilt = p;
    spoilt.k = p.k.clone(), spoilt.v = p.v.clone();
    spoil_key(spoilt, 0, 5, NAN);
    EXPECT_EQ(run(spoilt).out, clean.out);
}

/** NaN exactly where float64 has it, beside masked NaN and Inf; the rest as accurate as ever. */
TEST_P(CudaAttention, WhatIsAttendedShows) {
    for (auto [queries, mask] : {std::pair<int64_t, const char *>{33, "causal"}, {97, "window(40, 0)"}, {70, "none"}}) {
        AttentionProblem p = problem(queries, queries, 2, 4, 2);
        p.mask = mask;
        p.v(0, 0, 20, 2) = NAN, p.v(1, 1, 7, 1) = INFINITY, p.v(1, 1, 11, 1) = -INFINITY, p.v(0, 1, 3, 5) = INFINITY;
        p.k(0, 1, 12, 3) = NAN, p.q(1, 2, 5, 0) = NAN, p.v(1, 0, 31, 0) = -INFINITY;
        const HalfRun got = run(p);
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        const AttentionAnswer exact = attention_in_double(p);
        EXPECT_TRUE(agrees(got.out, exact.out, {0.05}, 0.2)) << mask << ", out";
        EXPECT_TRUE(agrees(got.lse, exact.lse, {0.05}, 0.2)) << mask << ", lse";
    }
}

} // namespace
} // namespace attune::test
