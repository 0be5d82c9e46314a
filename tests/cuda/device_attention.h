// A good attention of B 2, Hq 4, Hkv 2, N 8, M 16, D 64 on the emulated GPU, to spoil. Its memory can be looked at as any other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "attune/attune.h"
#include "fake_cuda.h"
#include "runtime/src/cuda/device.h"

namespace attune::runtime {

using Ints = std::vector<int32_t>;

/** Blocks of 80000 floats on the GPU. */
class DeviceMemory {
public:
    DeviceMemory() {
        EXPECT_TRUE(find_cuda_device(device_).ok());
        current_.emplace(device_);
    }
    ~DeviceMemory() {
        for (CudaPointer block : blocks_)
            function<int(CudaPointer)>("cuMemFree_v2")(block);
    }

    void *allocate() {
        constexpr size_t count = 80000; // no tensor of the tests spans more, so that none overlaps another
        EXPECT_EQ(function<int(CudaPointer *, size_t)>("cuMemAlloc_v2")(&blocks_.emplace_back(), count * sizeof(float)), 0);
        auto *block = reinterpret_cast<float *>(static_cast<uintptr_t>(blocks_.back()));
        std::fill_n(block, count, 77.0f);
        return block;
    }

private:
    template <typename Function> static Function *function(const char *name) { return reinterpret_cast<Function *>(cuda_symbol(name)); }

    CudaDevice device_;
    std::optional<CurrentContext> current_;
    std::deque<CudaPointer> blocks_;
};

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

    /** A contiguous tensor with memory of its own, all 77 in f32. */
    attune_tensor tensor(attune_type type, std::vector<int64_t> extents) {
        attune_tensor made = attune_contiguous(memory.allocate(), type, static_cast<int32_t>(extents.size()), extents.data());
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

    DeviceMemory memory;
    attune_tensor lse, bias, sinks, lengths, offsets, other;
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_attention_plan *plan = nullptr;
};

inline uint64_t address(const attune_tensor &tensor) { return reinterpret_cast<uintptr_t>(tensor.data); }

inline void run_well(DeviceAttention &attention) { ASSERT_EQ(attention.run(), ATTUNE_OK) << attune_error_message(); }

} // namespace attune::runtime
