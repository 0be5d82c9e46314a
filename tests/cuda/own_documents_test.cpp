// Kernels of attune_add_kernel(DEVICE cuda) with documents: right for any ids, and blocks of keys of other documents are skipped.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "attention_kernel_test.h"
#include "own_cuda_choice_kernel.h"
#include "own_documents_kernels.h"
#include "schedules/cuda/block_sizes.h"

namespace attune::test {
namespace {

using Ids = std::function<int64_t(int64_t item, int64_t token)>;

class CudaDocuments : public CudaAttentionTest {
protected:
    /** Of one item where all have the same ids. */
    static Tensor<int64_t> ids(int64_t items, int64_t tokens, const Ids &id) {
        Tensor<int64_t> made({items, tokens});
        for (int64_t b = 0; b < items; b++)
            for (int64_t t = 0; t < tokens; t++)
                made(b, t) = id(b, t);
        return made;
    }

    AttentionProblem documents_problem(int64_t queries, int64_t keys, int64_t batch, int64_t items, const Ids &id) {
        AttentionProblem p = problem(queries, keys, batch);
        p.mask = "documents & causal", p.documents = ids(items, keys, id);
        return p;
    }

    bool is(const char *schedule) const { return std::string(kernel().schedule) == schedule; }

    schedules::CudaBlock block_of_kernel() const {
        const int head_dim = static_cast<int>(kernel().head_dim);
        if (is("mma")) return schedules::mma_block(head_dim);
        return is("wgmma") ? schedules::wgmma_block(head_dim) : schedules::simt_block(head_dim);
    }

private:
    void SetUp() override {
        own_kernel = GetParam();
        if (!is_for_this_device(kernel())) GTEST_SKIP() << kernel().name << " is for capability 9.0";
    }
};
INSTANTIATE_TEST_SUITE_P(Own, CudaDocuments, ::testing::ValuesIn(own_documents_kernels()), kernel_name);

TEST_P(CudaDocuments, InOrder) {
    for (int64_t tokens : {1, 200, 333})
        for (int64_t length : {1, 64, 130})
            expect_right(documents_problem(tokens, tokens, 2, 2, [=](int64_t b, int64_t t) { return (t + 17 * b) / length; }));
}

TEST_P(CudaDocuments, InAnyOrder) {
    for (int64_t tokens : {65, 300}) {
        expect_right(documents_problem(tokens, tokens, 2, 1, [](int64_t, int64_t t) { return t % 3; }));
        expect_right(documents_problem(tokens, tokens, 1, 1, [](int64_t, int64_t t) { return -t / 50; }));
        expect_right(documents_problem(tokens, tokens, 1, 1, [](int64_t, int64_t t) { return t / 64 % 2 ? INT32_MIN : INT32_MAX; }));
        expect_right(documents_problem(tokens, tokens, 1, 1, [](int64_t, int64_t t) { return t * 7919 % 11 - 5; }));
    }
}

TEST_P(CudaDocuments, QueriesOfTheirOwn) {
    for (auto [queries, keys, offset] : {std::array<int64_t, 3>{1, 300, 299}, {140, 300, 160}, {150, 70, -20}}) {
        AttentionProblem p = documents_problem(queries, keys, 2, 2, [](int64_t b, int64_t t) { return t / 45 + b; });
        p.query_documents = ids(1, queries, [](int64_t, int64_t t) { return t / 30 + 1; }), p.offset = offset; // of some there is no key
        expect_right(p);
    }
}

/** Nothing of other documents reaches a result. */
TEST_P(CudaDocuments, WhatOtherDocumentsHoldDoesNotShow) {
    AttentionProblem p = documents_problem(260, 260, 1, 1, [](int64_t, int64_t t) { return t / 90; });
    const HalfRun clean = run(p);
    ASSERT_TRUE(clean.status.ok()) << clean.status.message;
    for (int64_t t = 90; t < 180; t++)
        p.k(0, 0, t, 1) = NAN, p.v(0, 0, t, 2) = INFINITY;
    const HalfRun got = run(p);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    for (size_t i = 0; i < got.out.size(); i++) { // [heads, 260, dim]
        const bool spoilt = i / static_cast<size_t>(p.value_dim()) % 260 / 90 == 1;
        ASSERT_TRUE(spoilt || got.out[i] == clean.out[i]) << i;
    }
}

/** Documents begin at multiples of tiles. As many blocks are masked in part under one document of 1024 tokens as under several, those on
 * the diagonal; the others are fewer the more documents there are. Without order all blocks are masked. */
TEST_P(CudaDocuments, BlocksOfOthersAreSkippedAndFullOnesEvaluateNoMask) {
    if (is("split_kv")) GTEST_SKIP() << "a tile of it has queries of a few tokens";
    if (!counts_instructions()) GTEST_SKIP() << "the emulator alone counts instructions";
    const schedules::CudaBlock block = block_of_kernel();
    const int64_t tokens = 1024, side = std::max(block.queries, block.keys), squares = tokens / side;
    const auto counted = [&](const Ids &id) { return warp_instructions(documents_problem(tokens, tokens, 1, 1, id)); };
    const auto of = [&](int64_t documents) { return counted([=](int64_t, int64_t t) { return t / (tokens / documents); }); };
    const auto full_blocks = [&](int64_t documents) {
        return double(squares * (squares / documents - 1) / 2) * double(side / block.queries * (side / block.keys));
    };
    const double one = of(1), two = of(2), many = of(squares), mixed = counted([](int64_t, int64_t t) { return t % 2; });
    const double full = (one - two) / (full_blocks(1) - full_blocks(2)), partial = (mixed - many) / full_blocks(1);
    EXPECT_NEAR((two - many) / full_blocks(2), full, 0.02 * full);
    EXPECT_LT(full, (is("simt") ? 1.0 : 0.5) * partial);
    EXPECT_LT(many, 0.4 * mixed);
}

/** Of a few queries, which are of the last of 8 documents. */
TEST_P(CudaDocuments, ChunksOfOthersAreLeftOut) {
    if (!is("split_kv")) GTEST_SKIP() << "has no chunks";
    if (!counts_instructions()) GTEST_SKIP() << "the emulator alone counts instructions";
    const auto counted = [&](int64_t documents) {
        AttentionProblem p = documents_problem(4, 1024, 1, 1, [=](int64_t, int64_t t) { return t / (1024 / documents); });
        p.query_documents = ids(1, 4, [=](int64_t, int64_t) { return documents - 1; }), p.offset = 1020;
        return warp_instructions(p, "chunk_state");
    };
    EXPECT_LT(counted(8), 0.4 * counted(1));
}

class CudaDocumentsChoice : public CudaAttentionTest {
private:
    void SetUp() override { own_kernel = &own_cuda_choice_kernel; }
};
INSTANTIATE_TEST_SUITE_P(Own, CudaDocumentsChoice, ::testing::Values(&own_cuda_choice_kernel), kernel_name);

TEST_P(CudaDocumentsChoice, AmongOtherTerms) {
    for (auto [tokens, first, length] : {std::array<int, 3>{1, 0, 1}, {100, 7, 30}, {200, 130, 64}, {333, 0, 500}}) {
        params = {first};
        AttentionProblem p = problem(tokens, tokens, 2);
        p.mask = "documents & (prefix(" + std::to_string(first) + ") | window(20, 0)) | dilated(3, top_left) & lengths";
        p.key_lengths = {tokens, tokens / 3};
        p.documents = Tensor<int64_t>({2, tokens});
        for (int64_t b = 0; b < 2; b++)
            for (int64_t t = 0; t < tokens; t++)
                (*p.documents)(b, t) = (t + 17 * b) / length;
        expect_right(p);
    }
}

} // namespace
} // namespace attune::test
