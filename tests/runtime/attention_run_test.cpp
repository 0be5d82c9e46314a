// Plans and runs over fake kernels: which kernel runs, what it is handed, and what comes back.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "problem.h"
#include "runtime/src/kernel/internal.h"

namespace attune::runtime::attention_run_test {
namespace {

class AttentionRun : public testing::Test {
protected:
    void SetUp() override { seen().clear(); }
};

using Names = std::vector<std::string>;

std::string chosen(Problem &problem) {
    EXPECT_EQ(problem.make_plan(), ATTUNE_OK) << attune_error_message();
    return problem.plan ? attune_attention_plan_kernel(problem.plan)->name : "";
}

TEST_F(AttentionRun, PicksTheKernelOfTheWidths) {
    Problem problem;
    EXPECT_EQ(chosen(problem), "attention_flash") << "D = 4, Dv = 6";
    problem.desc.value_dim = 0;
    EXPECT_EQ(chosen(problem), "attention_flash_d4");
    problem.desc.schedule = "reference";
    EXPECT_EQ(chosen(problem), "attention_reference");
    problem.desc.schedule = nullptr, problem.desc.kernel = &causal_window_kernel;
    EXPECT_EQ(chosen(problem), "causal_window");
}

TEST_F(AttentionRun, GivesWeightsForAPrebuiltKernelPickedByHand) {
    Problem problem;
    problem.desc.kernel = attune_kernel_at(2), problem.args.weights = &problem.weights_tensor;
    ASSERT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels, (Names{"attention_reference", "weights_reference"}));
}

/** The weights of the row, straight from the definition. */
std::vector<double> expected_weights(const Problem &p, const MaskPlace &place, const text::MaskNode &mask, int64_t b, int64_t h,
                                     int64_t i) {
    std::vector<double> weights(static_cast<size_t>(p.keys));
    double sum = 0;
    for (int64_t j = 0; j < p.keys; ++j) {
        double score = 0;
        for (int64_t d = 0; d < p.dim; ++d)
            score += static_cast<double>(p.q[static_cast<size_t>(((b * p.heads + h) * p.queries + i) * p.dim + d)]) *
                     static_cast<double>(p.k[static_cast<size_t>(((b * p.kv_heads + h / 2) * p.keys + j) * p.dim + d)]);
        weights[static_cast<size_t>(j)] = attends(mask, place, i, j) ? std::exp(score / 2) : 0;
        sum += weights[static_cast<size_t>(j)];
    }
    for (double &weight : weights)
        weight = sum > 0 ? weight / sum : 0;
    return weights;
}

void expect_weights(const Problem &p, const std::vector<int64_t> &offsets, const char *mask) {
    const text::ParseResult parsed = text::parse_mask(mask);
    for (int64_t b = 0; b < p.batch; ++b)
        for (int64_t h = 0; h < p.heads; ++h)
            for (int64_t i = 0; i < p.queries; ++i) {
                const MaskPlace place = {p.queries, p.keys, offsets[static_cast<size_t>(b)]};
                const std::vector<double> expected = expected_weights(p, place, parsed.mask.root, b, h, i);
                for (int64_t j = 0; j < p.keys; ++j)
                    EXPECT_NEAR(static_cast<double>(p.weights[static_cast<size_t>(((b * p.heads + h) * p.queries + i) * p.keys + j)]),
                                expected[static_cast<size_t>(j)], 1e-6)
                        << mask << " " << b << h << i << j;
            }
}

TEST_F(AttentionRun, MasksByTextAndOffsets) {
    for (const char *mask : {"none", "causal", "causal(bottom_right)", "window(1, 0) | prefix(1)", "!window(0, 0) & prefix(4)"}) {
        Problem problem;
        int64_t offsets[2] = {2, -1};
        const attune_tensor tensor = attune_contiguous(offsets, ATTUNE_I64, 1, &problem.batch);
        problem.desc.mask = mask, problem.args.offsets = &tensor;
        problem.args.lse = &problem.lse_tensor, problem.args.weights = &problem.weights_tensor;
        ASSERT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
        expect_weights(problem, {2, -1}, mask);
    }
}

TEST_F(AttentionRun, HandsOverDefaults) {
    Problem problem;
    ASSERT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels, Names{"attention_flash"});
    EXPECT_EQ(seen().scale, 0.5f);
    EXPECT_EQ(seen().softcap, 0.0f);
    EXPECT_EQ(seen().temperature, 1.0f);
    EXPECT_EQ(seen().use_attend + seen().use_bias, 0);
    EXPECT_EQ(seen().intervals, 1);
    EXPECT_NE(problem.out[0], 77.0f);
}

TEST_F(AttentionRun, HandsOverNumbersAndTensors) {
    Problem problem(3, 3);
    problem.args.has_scale = 1, problem.args.scale = -3, problem.args.softcap = 9, problem.args.temperature = 0.25f;
    bool attend[3] = {true, false, true};
    float bias[2] = {0, 1};
    const int64_t per_key[4] = {1, 1, 1, 3}, per_item[4] = {2, 1, 1, 1};
    const attune_tensor boolean_mask = attune_contiguous(attend, ATTUNE_BOOL, 4, per_key);
    const attune_tensor bias_tensor = attune_contiguous(bias, ATTUNE_F32, 4, per_item);
    problem.args.boolean_mask = &boolean_mask, problem.args.bias = &bias_tensor, problem.args.weights = &problem.weights_tensor;
    ASSERT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels, (Names{"attention_flash", "weights_vectorized"}));
    EXPECT_EQ(seen().scale, -3.0f);
    EXPECT_EQ(seen().softcap, 9.0f);
    EXPECT_EQ(seen().temperature, 0.25f);
    EXPECT_EQ(seen().use_attend, 1);
    EXPECT_EQ(seen().use_bias, 1);
    for (size_t row = 0; row < 24; ++row)
        EXPECT_EQ(problem.weights[3 * row + 1], 0.0f);
}

TEST_F(AttentionRun, RunsAKernelOfTheCallersOwn) {
    Problem problem;
    const int32_t reach = 1;
    problem.desc.kernel = &causal_window_kernel, problem.desc.mask = "prefix(4)";
    problem.args.params = &reach, problem.args.param_count = 1;
    problem.args.has_offset = 1, problem.args.offset = 2, problem.args.weights = &problem.weights_tensor;
    ASSERT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels, (Names{"causal_window", "weights_vectorized"}));
    EXPECT_EQ(seen().offsets, (std::vector<int32_t>{2, 2}));
    EXPECT_EQ(seen().params, std::vector<int32_t>{1});
    expect_weights(problem, {2, 2}, "causal & window(1, 0) & prefix(4)");
}

TEST_F(AttentionRun, MovesFarOffsetsWithinThirtyTwoBits) {
    Problem problem;
    const int32_t reach = 3;
    int64_t offsets[2] = {INT64_MAX, INT64_MIN};
    const attune_tensor tensor = attune_contiguous(offsets, ATTUNE_I64, 1, &problem.batch);
    problem.desc.kernel = &causal_window_kernel;
    problem.args.params = &reach, problem.args.param_count = 1, problem.args.offsets = &tensor;
    ASSERT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().offsets, (std::vector<int32_t>{8, -6}));
}

TEST_F(AttentionRun, AnswersProblemsWithoutKeysItself) {
    Problem problem(3, 0);
    problem.args.k.data = problem.args.v.data = nullptr;
    problem.args.lse = &problem.lse_tensor, problem.args.weights = &problem.weights_tensor;
    problem.args.out.stride[0] *= 2;
    ASSERT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels, Names());
    for (size_t i = 0; i < 72; ++i) {
        EXPECT_EQ(problem.out[i], 0.0f);
        EXPECT_EQ(problem.out[i + 72], 77.0f);
        EXPECT_EQ(problem.out[i + 144], 0.0f);
    }
    for (size_t i = 0; i < 24; ++i)
        EXPECT_EQ(problem.lse[i], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(problem.lse[24], 77.0f);
}

TEST_F(AttentionRun, AnswersEmptyProblems) {
    for (int axis : {0, 1, 2}) {
        Problem problem;
        for (attune_tensor *tensor : {&problem.args.q, &problem.args.out})
            tensor->extent[axis] = 0, tensor->data = nullptr;
        if (axis == 0) problem.args.k.extent[0] = problem.args.v.extent[0] = 0;
        if (axis == 1) problem.args.k.extent[1] = problem.args.v.extent[1] = 0;
        EXPECT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
    }
    EXPECT_EQ(seen().kernels, Names());
}

TEST_F(AttentionRun, GivesTheSameForAnyThreadsAndPools) {
    Problem expected(40);
    attune_call call = ATTUNE_CALL_INIT;
    call.threads = 1;
    ASSERT_EQ(expected.run(&call), ATTUNE_OK);
    EXPECT_GT(call.workspace_bytes, 0u);
    for (int32_t threads : {0, 2, 3, 7}) {
        Problem problem(40);
        call.threads = threads;
        ASSERT_EQ(problem.run(&call), ATTUNE_OK);
        EXPECT_EQ(problem.out, expected.out);
    }
    Problem problem(40);
    int used = 0;
    call.pool = &used;
    call.parallel_for = [](void *pool, int32_t count, int (*task)(void *, int32_t), void *closure) {
        ++*static_cast<int *>(pool);
        for (int32_t i = count - 1; i >= 0; --i)
            if (const int code = task(closure, i)) return code;
        return 0;
    };
    ASSERT_EQ(problem.run(&call), ATTUNE_OK);
    EXPECT_EQ(problem.out, expected.out);
    EXPECT_EQ(used, 1);
}

TEST_F(AttentionRun, AllocatesNothingInTheSteadyState) {
    Problem problem(40);
    problem.desc.mask = "causal(top_left) | prefix(2)";
    attune_call call = ATTUNE_CALL_INIT;
    call.threads = 5;
    ASSERT_EQ(problem.run(&call), ATTUNE_OK) << attune_error_message();
    const int64_t count = attune_internal_allocation_count();
    for (int i = 0; i < 200; ++i)
        ASSERT_EQ(problem.run(&call), ATTUNE_OK);
    EXPECT_EQ(attune_internal_allocation_count(), count);
}

TEST_F(AttentionRun, PassesOnWhatAKernelReports) {
    Problem problem;
    fail_next_kernel() = true;
    EXPECT_EQ(problem.run(), ATTUNE_INTERNAL);
    fail_next_kernel() = false;
    EXPECT_STREQ(attune_error_message(), "the kernel attention_flash failed with code -7: the fake kernel was told to fail");
    EXPECT_EQ(problem.run(), ATTUNE_OK);
}

TEST_F(AttentionRun, PassesOnTheErrorOfACallersPool) {
    Problem problem;
    attune_call call = ATTUNE_CALL_INIT;
    call.parallel_for = [](void *, int32_t, int (*)(void *, int32_t), void *) { return 5; };
    EXPECT_EQ(problem.run(&call), ATTUNE_INTERNAL);
    EXPECT_NE(std::string(attune_error_message()).find("code 5"), std::string::npos);
}

} // namespace
} // namespace attune::runtime::attention_run_test
