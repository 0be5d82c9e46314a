// Kernels of attune_add_kernel(DEVICE cuda): what is compiled in means what the same text means at run time on the CPU.
#include <array>
#include <cmath>

#include "attention_kernel_test.h"
#include "own_cuda_data_kernel.h"
#include "own_cuda_lambda_kernel.h"
#include "own_cuda_pattern_kernel.h"

namespace attune::test {
namespace {

class CudaOwnPattern : public CudaAttentionTest {
protected:
    AttentionProblem pattern_problem(int64_t queries, int64_t keys, int64_t batch = 1) {
        AttentionProblem p = problem(queries, keys, batch);
        p.mask = "causal & (window(40, 0) | prefix(" + std::to_string(params[0]) + "))", p.softcap = 5, p.alibi = true;
        return p;
    }

    /** Warp instructions of a run of as many queries as keys. */
    double count(int64_t tokens, int32_t first) {
        params = {first};
        return warp_instructions(pattern_problem(tokens, tokens));
    }

private:
    void SetUp() override { own_kernel = &own_cuda_pattern_kernel, params = {3}; }
};
INSTANTIATE_TEST_SUITE_P(Own, CudaOwnPattern, ::testing::Values(&own_cuda_pattern_kernel), kernel_name);

TEST_P(CudaOwnPattern, OfText) {
    for (auto [queries, keys, first] : {std::array<int, 3>{1, 1, 0}, {64, 64, 5}, {33, 130, 40}, {130, 333, 70}, {333, 333, 1}}) {
        params = {first};
        AttentionProblem p = pattern_problem(queries, keys, 2);
        p.offset = keys - queries;
        expect_right(p);
    }
}

TEST_P(CudaOwnPattern, AtOffsetsOfEachItem) {
    AttentionProblem p = pattern_problem(40, 200, 4);
    p.offsets = {160, 3, -1, 100}, p.key_lengths = {200, 90, 1, 0};
    expect_right(p);
}

TEST_P(CudaOwnPattern, BesideAMaskGivenAtRunTime) {
    params = {150};
    AttentionProblem p = pattern_problem(180, 200);
    mask_beside = "window(90, 0, bottom_right)";
    p.mask = "(" + p.mask + ") & " + mask_beside, p.offset = 7;
    p.alignment = ""; // ALiBi counts from the offset, as the mask that is compiled in does
    expect_right(p);
}

TEST_P(CudaOwnPattern, TheSameMaskTwiceIsThatMask) {
    mask_beside = own_cuda_pattern_kernel.mask;
    expect_right(pattern_problem(100, 100));
}

TEST_P(CudaOwnPattern, WhatIsAttendedShows) {
    AttentionProblem p = pattern_problem(150, 150);
    p.v(0, 0, 2, 2) = NAN, p.v(0, 0, 120, 1) = INFINITY, p.k(0, 0, 60, 3) = NAN;
    const HalfRun got = run(p);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    EXPECT_TRUE(agrees(got.out, attention_in_double(p).out, {0.05}, 0.2));
}

/** Tiles of 128 queries, blocks of 32 keys: four of these lie on a tile's diagonal, all masked in part, as are the two that a window of 40
 * reaches back. All keys before a query are full blocks beside the diagonal's, 64 more for 1024 tokens than for 512 and 512. A window and
 * the first keys have one block a tile more than the window, but for the first tile, with as many between as would be full: these are left
 * out. */
TEST_P(CudaOwnPattern, BlocksBetweenAreSkippedAndFullOnesEvaluateNoMask) {
    if (!counts_instructions()) GTEST_SKIP() << "the emulator alone counts instructions";
    const double window = count(1024, 0), partial = (window - 2 * count(512, 0)) / 2;
    const double full = (count(1024, 1024) - 2 * count(512, 512)) / 64;
    EXPECT_LT(full, 0.7 * partial);
    const double between = count(1024, 4) - window;
    EXPECT_GT(between, 7 * full);
    EXPECT_LT(between, 9 * partial);
}

TEST_P(CudaOwnPattern, WrongArguments) {
    const auto refused = [this](const AttentionProblem &p, const char *sentence) {
        const Status status = run(p).status;
        EXPECT_NE(status.message.find(sentence), std::string::npos) << status.message;
    };
    AttentionProblem p = pattern_problem(20, 20);
    params = {};
    refused(p, "param_count is 0; the kernel own_cuda_pattern takes 1");
    params = {-3};
    refused(p, "params[0] is -3; first of the mask's prefix must be 0 or more");
    params = {3};
    refused(pattern_problem(20, 30), "the mask's causal names no alignment");
    mask_beside = "prefix(9)";
    refused(p, "the mask has prefix; on device cuda it must be made of causal, window, lengths and & alone; write "
               "attune_add_kernel(my_attention DEVICE cuda MASK \"(causal & (window(40, 0) | prefix(first))) & (prefix(9))\" SCORE "
               "\"softcap(5) alibi\" HEAD_DIM 64 DTYPE bf16) in CMake");
    mask_beside = "none";
    p.documents = Tensor<int64_t>({1, 20});
    refused(p, "documents is given; attention on device cuda takes");
}

class CudaOwnData : public CudaAttentionTest {
private:
    void SetUp() override { own_kernel = &own_cuda_data_kernel; }
};
INSTANTIATE_TEST_SUITE_P(Own, CudaOwnData, ::testing::Values(&own_cuda_data_kernel), kernel_name);

AttentionProblem with_data(AttentionProblem p) {
    p.mask = "(documents | tensor & lengths) & !dilated(3, top_left)";
    const int64_t batch = p.batch(), queries = p.queries(), keys = p.keys();
    p.documents = Tensor<int64_t>({batch, keys}), p.query_documents = Tensor<int64_t>({1, queries});
    for (int64_t b = 0; b < batch; b++)
        for (int64_t j = 0; j < keys; j++)
            (*p.documents)(b, j) = j / (11 + 6 * b) % 3;
    for (int64_t i = 0; i < queries; i++)
        (*p.query_documents)(0, i) = i / 9 % 4;
    p.boolean_mask = Tensor<uint8_t>({1, p.query_heads(), queries, keys});
    for (int64_t h = 0; h < p.query_heads(); h++)
        for (int64_t i = 0; i < queries; i++)
            for (int64_t j = 0; j < keys; j++)
                (*p.boolean_mask)(0, h, i, j) = (i * 7 + j * 3 + h) % 5 == 0;
    p.key_lengths = {keys, keys / 2};
    return p;
}

TEST_P(CudaOwnData, DocumentsAndABooleanTensor) {
    for (auto [queries, keys] : {std::pair{50, 50}, {70, 131}})
        expect_right(with_data(problem(queries, keys, 2, 4, 2)));
}

TEST_P(CudaOwnData, WithoutTheTensors) {
    const auto refused = [this](const AttentionProblem &p, const char *sentence) {
        const Status status = run(p).status;
        EXPECT_NE(status.message.find(sentence), std::string::npos) << status.message;
    };
    const AttentionProblem good = with_data(problem(20, 30, 2));
    AttentionProblem p = good;
    p.documents.reset(), p.query_documents.reset();
    refused(p, "the mask names documents, which needs documents; none is given");
    p = good, p.query_documents.reset();
    refused(p, "query_documents is NULL, and N = 20 differs from M = 30");
    p = good, p.documents = Tensor<int64_t>({2, 29});
    refused(p, "documents.extent[1] is 29; it must be 30");
    p = good, p.boolean_mask.reset();
    refused(p, "the mask names tensor, which needs boolean_mask; none is given");
    p = good, p.key_lengths.clear();
    refused(p, "the mask names lengths, which needs key_lengths; none is given");
}

class CudaOwnLambda : public CudaAttentionTest {
private:
    void SetUp() override { own_kernel = &own_cuda_lambda_kernel; }
};
INSTANTIATE_TEST_SUITE_P(Own, CudaOwnLambda, ::testing::Values(&own_cuda_lambda_kernel), kernel_name);

TEST_P(CudaOwnLambda, MaskAndScore) {
    for (auto [queries, keys, stride, first] : {std::array<int, 4>{50, 70, 3, 5}, {130, 130, 2, 0}, {1, 200, 7, 100}}) {
        AttentionProblem p = problem(queries, keys, 2, 4, 2);
        p.offset = keys - queries, params = {stride, first};
        AttentionProblem meant = p;
        meant.scale = 0.5f / std::sqrt(float(p.dim()));
        meant.bias = Tensor<float>({1, 4, queries, keys});
        meant.boolean_mask = Tensor<uint8_t>({2, 4, queries, keys});
        for (int h = 0; h < 4; h++)
            for (int i = 0; i < queries; i++)
                for (int j = 0; j < keys; j++) {
                    const int distance = i + keys - queries - j;
                    (*meant.bias)(0, h, i, j) = -0.02f * float(std::abs(i - j) * (h + 1));
                    for (int b = 0; b < 2; b++)
                        (*meant.boolean_mask)(b, h, i, j) = (distance >= 0 && distance % stride <= (h + b) % 2) || j < first;
                }
        const HalfRun got = run(p);
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        expect_accurate(type(), meant, got);
    }
}

} // namespace
} // namespace attune::test
