// What the agreement tests share: problems that touch every path, and the comparison bit by bit.
#pragma once

#include <utility>
#include <vector>

#include "run_attention.h"

namespace attune::test {

inline void expect_same_bits(const AttentionRun &got, const AttentionRun &want) {
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    ASSERT_TRUE(want.status.ok()) << want.status.message;
    EXPECT_TRUE(same_bits(got.out, want.out)) << "out";
    EXPECT_TRUE(same_bits(got.lse, want.lse)) << "lse";
    EXPECT_TRUE(same_bits(got.weights, want.weights)) << "weights";
}

class AgreementTest : public SeededTestWithParam<const attune_kernel *> {
protected:
    const attune_kernel &kernel() const { return *GetParam(); }
    AttentionShape shape(int64_t queries, int64_t keys, int64_t batch, int64_t query_heads, int64_t key_heads) const {
        return {batch, query_heads, key_heads, queries, keys, head_dim_or(kernel(), 20), value_dim_or(kernel(), 12)};
    }
    AttentionRun run(const AttentionProblem &p, const Call &call = Call(1)) const {
        return run_attention(kernel(), p, {true, true, {}, call});
    }

    /** One plain, one of several blocks under a mask, one with tensors and lengths, one of a single query. */
    std::vector<AttentionProblem> problems() {
        const bool slow = is_reference(kernel());
        AttentionProblem plain = normal_problem(shape(37, 65, 2, 3, 3), random);
        AttentionProblem blocks = normal_problem(slow ? shape(40, 70, 1, 2, 1) : shape(200, 333, 1, 3, 1), random);
        blocks.mask = "causal & window(100,-1) | prefix(5)", blocks.offset = 120;
        AttentionProblem tensors = normal_problem(shape(29, 53, 3, 4, 2), random);
        tensors.key_lengths = {53, 0, 20}, tensors.offsets = {24, 5, -4}, tensors.mask = "causal", tensors.softcap = 4;
        tensors.bias = Tensor<float>({1, 4, 29, 53}), tensors.boolean_mask = Tensor<uint8_t>({3, 1, 1, 53});
        random.fill_normal(*tensors.bias), random.fill_boolean(*tensors.boolean_mask, 0.8);
        AttentionProblem decode = normal_problem(shape(1, slow ? 100 : 700, 2, 8, 2), random);
        decode.key_lengths = {decode.keys(), decode.keys() / 3};
        return {plain, blocks, tensors, decode};
    }
};

#define ATTUNE_AGREEMENT_SUITE(Suite)                                                                                                      \
    class Suite : public AgreementTest {};                                                                                                 \
    ATTUNE_FOR_EACH_KERNEL(Suite, "attention")

} // namespace attune::test
