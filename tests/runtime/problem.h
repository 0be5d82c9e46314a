// A small attention problem with all of its memory, for tests of the runtime over fake kernels.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "attune/attune.h"
#include "fake_kernels.h"
#include "mask_formulas.h"

namespace attune::runtime {

/** B, Hq, Hkv, N, M, D, Dv: 2, 4, 2, 3, 5, 4, 6 unless said otherwise. */
struct Problem {
    static constexpr size_t room = 4000; // elements of every tensor
    Problem(int64_t queries_ = 3, int64_t keys_ = 5, int64_t batch_ = 2) : batch(batch_), queries(queries_), keys(keys_) {
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        for (auto *memory : {&q, &k, &v}) {
            memory->resize(room);
            for (float &value : *memory)
                value = normal(random);
        }
        attune_attention_args_init(&args);
        args.q = tensor(q, {batch, heads, queries, dim});
        args.k = tensor(k, {batch, kv_heads, keys, dim});
        args.v = tensor(v, {batch, kv_heads, keys, value_dim});
        args.out = tensor(out, {batch, heads, queries, value_dim});
        lse_tensor = tensor(lse, {batch, heads, queries});
        weights_tensor = tensor(weights, {batch, heads, queries, keys});
        desc.head_dim = dim, desc.value_dim = value_dim;
    }

    static attune_tensor tensor(std::vector<float> &memory, std::vector<int64_t> extents) {
        return attune_contiguous(memory.data(), ATTUNE_F32, static_cast<int32_t>(extents.size()), extents.data());
    }

    ~Problem() { attune_attention_plan_destroy(plan); }
    Problem(const Problem &) = delete;
    Problem &operator=(const Problem &) = delete;

    attune_status make_plan() {
        attune_attention_plan_destroy(plan);
        plan = nullptr;
        return attune_attention_plan_create(&desc, &plan);
    }
    attune_status run(attune_call *call = nullptr) {
        if (!plan && make_plan() != ATTUNE_OK) return ATTUNE_INTERNAL;
        return attune_attention_run(plan, &args, call);
    }

    int64_t batch, heads = 4, kv_heads = 2, queries, keys, dim = 4, value_dim = 6;
    std::vector<float> q, k, v, out = std::vector<float>(room, 77), lse = std::vector<float>(room, 77);
    std::vector<float> weights = std::vector<float>(room, 77);
    attune_tensor lse_tensor, weights_tensor;
    attune_attention_args args;
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_plan *plan = nullptr;
};

} // namespace attune::runtime
