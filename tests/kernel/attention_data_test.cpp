// Every attention kernel under masks that the data of a call settles: documents, block maps, lengths and tensors as terms.
#include "attention_test.h"

#include <limits>

namespace attune::test {
namespace {

class AttentionData : public AttentionTest {
protected:
    /** Ids that come again, of `count` documents. */
    Tensor<int64_t> ids(Extents extents, int64_t count) {
        const Tensor<int64_t> tensor(std::move(extents));
        tensor.each([&](int64_t &id) { id = random.between(0, count - 1) * 5000000000 - 7; });
        return tensor;
    }
    /** Documents one after the other, `length` tokens each. */
    Tensor<int64_t> packed(int64_t tokens, int64_t length) {
        const Tensor<int64_t> tensor({1, tokens});
        for (int64_t j = 0; j < tokens; j++)
            tensor(0, j) = j / length;
        return tensor;
    }
};
ATTUNE_FOR_EACH_KERNEL(AttentionData, "attention");

TEST_P(AttentionData, DocumentsThatComeAgain) {
    for (const char *mask : {"documents", "documents & causal", "!documents", "documents | prefix(3)", "documents & !window(1, 1)"}) {
        AttentionProblem p = problem(33, 33, 2, 4, 2);
        p.mask = mask, p.documents = ids({2, 33}, 3);
        expect_right(p);
    }
}

TEST_P(AttentionData, DocumentsOfQueriesApartFromThoseOfKeys) {
    AttentionProblem p = problem(13, 41, 2);
    p.mask = "documents", p.documents = ids({1, 41}, 4), p.query_documents = ids({2, 13}, 5); // some have no keys
    expect_right(p);
    p.mask = "documents & causal | prefix(1)", p.offsets = {28, 3};
    expect_right(p);
}

TEST_P(AttentionData, PackedDocuments) {
    const int64_t n = large();
    AttentionProblem p = problem(n, n, 1, 1);
    p.mask = "documents & causal", p.documents = packed(n, 37);
    expect_right(p);
    p.documents.reset(), p.document_starts = {0, 5, 5, n / 2, n};
    expect_right(p);
    p.mask = "documents";
    expect_right(p);
}

TEST_P(AttentionData, BlockMaps) {
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{8, 16}, {1, 1}, {5, 7}, {64, 64}})
        for (const Extents &outer : {Extents{1, 1}, {2, 1}, {1, 4}, {2, 4}}) {
            AttentionProblem p = problem(30, 45, 2, 4, 2);
            p.mask = "blocks(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
            p.block_map = boolean_mask({outer[0], outer[1], (30 + rows - 1) / rows, (45 + columns - 1) / columns}, 0.5);
            expect_right(p, {false, 0});
        }
}

TEST_P(AttentionData, BlockMapsWithOtherMasks) {
    const int64_t n = large();
    for (const char *mask : {"blocks(16, 32) & causal", "blocks(16, 32) | window(9, 9)", "!blocks(16, 32) & documents"}) {
        AttentionProblem p = problem(n, n, 1, 2);
        p.mask = mask, p.block_map = boolean_mask({1, 2, (n + 15) / 16, (n + 31) / 32}, 0.3);
        if (p.mask.find("documents") != std::string::npos) p.documents = packed(n, 60);
        expect_right(p, {false, 0});
    }
}

TEST_P(AttentionData, LengthsAsATerm) {
    for (const char *mask : {"lengths", "lengths | causal(top_left)", "!lengths & prefix(20)", "lengths & window(5, 5, top_left)"}) {
        AttentionProblem p = problem(25, 41, 4);
        p.mask = mask, p.key_lengths = {41, 0, 1, 13};
        expect_right(p, {false, 0});
    }
}

TEST_P(AttentionData, ATensorAsATerm) {
    AttentionProblem p = problem(25, 41, 2);
    p.mask = "tensor & causal(bottom_right) & lengths", p.boolean_mask = boolean_mask({1, 1, 25, 41}), p.key_lengths = {41, 20};
    expect_right(p);
}

TEST_P(AttentionData, EverythingTogether) {
    AttentionProblem p = problem(30, 45, 2, 4, 2);
    p.mask = "(documents | blocks(8, 8)) & (causal | prefix(2)) & tensor & lengths";
    p.documents = ids({2, 45}, 3), p.query_documents = ids({1, 30}, 3), p.block_map = boolean_mask({1, 4, 4, 6}, 0.4);
    p.boolean_mask = boolean_mask({2, 4, 30, 45}), p.key_lengths = {40, 45}, p.offsets = {15, 3}, p.bias = bias({1, 4, 1, 45});
    p.softcap = 3, p.temperature = 0.8f, p.scale = 0.4f;
    expect_right(p, {false, 0});
}

TEST_P(AttentionData, WhatOtherDocumentsHoldDoesntCount) {
    for (const char *mask : {"documents", "blocks(48, 1)"}) {
        AttentionProblem p = problem(48, 97);
        p.mask = mask, p.documents = packed(97, 30), p.query_documents = packed(48, 48), p.block_map = boolean_mask({1, 1, 1, 97}, 0.5);
        if (p.mask[0] == 'd')
            p.block_map.reset();
        else
            p.documents.reset(), p.query_documents.reset();
        const AttentionRun clean = run_attention(kernel(), p);
        const AttentionAnswer exact = attention_in_double(p);
        ASSERT_TRUE(clean.status.ok()) << clean.status.message;
        for (int64_t j = 0; j < 97; j++)
            if (exact.masked[j]) p.k(0, 0, j, 3) = NAN, p.v(0, 0, j, 2) = std::numeric_limits<float>::infinity();
        const AttentionRun spoilt = run_attention(kernel(), p);
        EXPECT_TRUE(same_bits(spoilt.out, clean.out) && same_bits(spoilt.lse, clean.lse) && same_bits(spoilt.weights, clean.weights))
            << mask;
    }
}

TEST_P(AttentionData, RowsOfNothing) {
    AttentionProblem p = problem(25, 49);
    p.mask = "documents", p.documents = packed(49, 100), p.query_documents = ids({1, 25}, 2); // their ids differ from all keys'
    expect_right(p, {false, 0});
    p = problem(25, 49);
    p.mask = "blocks(5, 5)", p.block_map = Tensor<uint8_t>({1, 1, 5, 10});
    p.block_map->fill(0), (*p.block_map)(0, 0, 2, 3) = 1;
    expect_right(p, {false, 0});
}

} // namespace
} // namespace attune::test
