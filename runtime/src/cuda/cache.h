// Caches on a GPU: new tokens written in place, by a kernel on the call's stream, and attention over what is there then.
#pragma once

#include "runtime/src/attention/checks.h"
#include "runtime/src/cuda/scratch.h"

namespace attune::runtime {

/** One launch of the kernel `cache_write`. Tensors of 32 or 16 bits, any strides. */
struct DeviceWrite {
    attune_tensor cache;                   // [pages, heads, tokens, dim]
    attune_tensor update;                  // [batch, heads, new tokens, dim]
    const attune_tensor *starts = nullptr; // i32 [batch]; nullptr: 0
    const attune_tensor *pages = nullptr;  // i32 [batch, columns], the pages of each item; nullptr: an item has the page of its own number
    bool circular = false;

    /** That the kernel can count what it goes through. The names are those of the two tensors. */
    Status check(const char *cache_name, const char *update_name) const;
};

/** The kernel that copies elements of `type`, on the GPU that becomes the call's. */
Status find_write_kernel(attune_type type, Call &call, const attune_kernel *&kernel);

Status write_on_device(const attune_kernel &kernel, const DeviceWrite &write, Call &call);

/** attune_cache_write for tensors of ATTUNE_CUDA. All has been checked that holds on the CPU too, but for the numbers. */
Status cache_write_on_device(const attune_cache_write_args &args, int32_t axis, attune_call *call);

/** What of a run's cache needs no look at the GPU's memory: check_cache's part for ATTUNE_CUDA, for tensors that have been checked. */
Status check_device_cache(const attune_attention_args &args, const AttentionShape &shape);

/** That a cache on a GPU is of a kind that runs there: no ring, and no int8. */
Status check_cache_kind(const attune_cache &cache);

/** The arguments of a run, with or without a cache, as kernels take them: k and v are those of the cache, lengths and offsets count the
 * new tokens. */
class DeviceCache {
public:
    DeviceCache(const CudaDevice &device, Call &call) : call_(call), scratch_(device, call) {}

    /** `args` have been checked. Nothing is launched. */
    Status fill(const attune_attention_args &args, const AttentionShape &shape);
    const attune_attention_args &args() const { return args_; }

    /** Appends the new tokens, and counts. Once, before the kernels that read. */
    Status append() const;

private:
    Status count() const;

    Call &call_;
    DeviceScratch scratch_;
    const attune_kernel *write_kernel_ = nullptr, *count_kernel_ = nullptr; // nullptr: there is no cache
    attune_attention_args args_ = {};
    attune_tensor new_k_ = {}, new_v_ = {}, lengths_ = {}, offsets_ = {}; // lengths_ and offsets_ are rows of one tensor
    AttentionShape shape_ = {};
};

/** k and v as kernels read them: of the cache, where there is one. */
attune_attention_args attended(const attune_attention_args &args);

} // namespace attune::runtime
