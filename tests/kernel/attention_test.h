// What the attention tests share: a suite over every prebuilt attention kernel, at shapes that suit it.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cpuid.h>

#include "run_attention.h"

namespace attune::test {

/** AVX-512 FP16: every CPU with tiles has it, so that kernels of tiles convert f16 by it; the emulator of tiles doesn't know it. */
inline bool cpu_converts_f16() {
    constexpr unsigned avx512_fp16 = 1u << 23;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & avx512_fp16) != 0;
}

class AttentionTest : public SeededTestWithParam<const attune_kernel *> {
protected:
    void SetUp() override {
        const bool of_tiles = std::string_view(attune_cpu_class()) == "avx512_amx" && kernel().dtype == ATTUNE_F16;
        if (of_tiles && std::string_view(kernel().schedule) == "flash_bf16x2" && !cpu_converts_f16())
            GTEST_SKIP() << "f16 by tiles takes a CPU with AVX-512 FP16";
    }

    const attune_kernel &kernel() const { return *GetParam(); }

    /** A shape of the kernel's own widths; where it takes any, of odd ones. */
    AttentionShape shape(int64_t queries, int64_t keys, int64_t batch = 1, int64_t query_heads = 2, int64_t key_heads = 1) const {
        return {batch, query_heads, key_heads, queries, keys, head_dim_or(kernel(), 20), value_dim_or(kernel(), 12)};
    }
    AttentionProblem problem(int64_t queries, int64_t keys, int64_t batch = 1, int64_t query_heads = 2, int64_t key_heads = 1) {
        return normal_problem(shape(queries, keys, batch, query_heads, key_heads), random);
    }
    /** Beyond the tiles of every schedule, except `reference`, which is as slow as it is plain. */
    int64_t large() const { return is_reference(kernel()) ? 50 : 400; }

    void expect_right(const AttentionProblem &p, const Judgement &judgement = {}) { expect_matches_oracle(kernel(), p, judgement); }
    void expect_right_and_accurate(const AttentionShape &s) { expect_right(normal_problem(s, random), {true}); }

    /** Scores that are all about 0, but for `large` at key 3 and, at `place`, NaN. */
    AttentionProblem nan_beside_a_large_score(float large, int64_t place) {
        AttentionProblem p = problem(13, 49);
        p.scale = 1.0f / static_cast<float>(p.dim());
        p.q.fill(1.0f);
        for (int64_t d = 0; d < p.dim(); d++)
            p.k(0, 0, 3, d) = large;
        p.k(0, 0, place, 0) = NAN;
        return p;
    }

    /** A boolean mask of the given extents, about two cells in three true. */
    Tensor<uint8_t> boolean_mask(Extents extents, double probability = 0.67) {
        const Tensor<uint8_t> mask(std::move(extents));
        random.fill_boolean(mask, probability);
        return mask;
    }
    Tensor<float> bias(Extents extents) {
        const Tensor<float> tensor(std::move(extents));
        random.fill_normal(tensor, 2);
        return tensor;
    }
};

/** A suite of its own name over every prebuilt attention kernel. */
#define ATTUNE_ATTENTION_SUITE(Suite)                                                                                                      \
    class Suite : public AttentionTest {};                                                                                                 \
    ATTUNE_FOR_EACH_KERNEL(Suite, "attention")

} // namespace attune::test
