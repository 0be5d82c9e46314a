// A good attention of B 2, Hq 4, Hkv 2, N 8, M 16, D 64 on the GPU, to spoil. Emulated device memory is memory, which fakes don't touch.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "attune/attune.h"
#include "fake_cuda.h"

namespace attune::runtime {

struct DeviceAttention {
    explicit DeviceAttention(attune_type type = ATTUNE_BF16, int64_t keys = 16) {
        attune_attention_args_init(&args);
        args.q = tensor(type, {2, 4, 8, 64}), args.k = tensor(type, {2, 2, keys, 64}), args.v = tensor(type, {2, 2, keys, 64});
        args.out = tensor(type, {2, 4, 8, 64});
        lse = tensor(ATTUNE_F32, {2, 4, 8}), bias = tensor(ATTUNE_F32, {1, 4, 1, keys}), sinks = tensor(ATTUNE_F32, {4});
        lengths = tensor(ATTUNE_I32, {2}), offsets = tensor(ATTUNE_I32, {2}), other = tensor(ATTUNE_F32, {2, 4, 8, keys});
        desc.dtype = type, desc.head_dim = 64, desc.device = ATTUNE_CUDA;
        seen_cuda() = {};
    }
    ~DeviceAttention() { attune_attention_plan_destroy(plan); }
    DeviceAttention(const DeviceAttention &) = delete;
    DeviceAttention &operator=(const DeviceAttention &) = delete;

    /** A contiguous tensor, aligned to 64 bytes, with memory of its own. */
    attune_tensor tensor(attune_type type, std::vector<int64_t> extents) {
        std::vector<float> &block = memory.emplace_back(40000, 77.0f);
        const auto start = (reinterpret_cast<uintptr_t>(block.data()) + 63) / 64 * 64;
        attune_tensor made = attune_contiguous(reinterpret_cast<void *>(start), type, static_cast<int32_t>(extents.size()), extents.data());
        made.device = ATTUNE_CUDA;
        return made;
    }

    attune_status make_plan() {
        attune_attention_plan_destroy(plan);
        plan = nullptr;
        return attune_attention_plan_create(&desc, &plan);
    }
    attune_status run() {
        if (const attune_status status = make_plan(); status != ATTUNE_OK) return status;
        return attune_attention_run(plan, &args, &call);
    }

    std::deque<std::vector<float>> memory;
    attune_tensor lse, bias, sinks, lengths, offsets, other;
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_attention_plan *plan = nullptr;
};

inline uint64_t address(const attune_tensor &tensor) { return reinterpret_cast<uintptr_t>(tensor.data); }

} // namespace attune::runtime
