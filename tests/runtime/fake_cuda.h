// Test doubles for kernels of ATTUNE_CUDA: they note what the runtime hands over, and touch no GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/attune.h"

namespace attune::runtime {

/** A buffer as a kernel sees it. Axes innermost first. */
struct SeenBuffer {
    uint64_t device = 0;
    bool host = false, interface = false, dirty = false;
    int32_t type_code = 0, type_bits = 0;
    std::vector<int32_t> extents, strides;
};

/** The last call of an attention kernel. */
struct SeenAttention {
    const char *kernel = nullptr; // nullptr: none ran
    void *stream = nullptr;
    bool context = false;
    SeenBuffer query, key, value, lengths, offsets, sinks, bias, pages, out, lse;
    int32_t use_lengths = 0, use_offsets = 0, use_sinks = 0, use_bias = 0, use_alibi = 0, use_pages = 0;
    int32_t offset = 0, left = 0, right = 0, keys = 0;
    float scale = 0, softcap = 0, temperature = 0;
    int32_t keys_per_chunk = 0; // of split_kv alone
    SeenBuffer partial;
    int32_t mask_offset = 0; // of kernels of attune_add_kernel alone, with the next
    SeenBuffer query_documents, key_documents, attend, document_ranges;
    std::vector<SeenAttention> earlier; // the calls before
};

/** A call of the kernels `cache_write`, `cache_counts` and `document_ranges`. */
struct SeenCache {
    const char *kernel;
    void *stream;
    // Of cache_counts starts are the lengths, and cache the counts; of document_ranges update are the documents of queries, starts those of
    // keys, and cache the ranges.
    SeenBuffer update, starts, pages, cache;
    std::vector<int32_t> numbers; // in their order
    bool before_attention;
};
std::vector<SeenCache> &seen_cache();
SeenAttention &seen_cuda();

/** For the registry: "attention" of schedules simt (f32, f16), mma and split_kv (bf16, D 64, words, capability 8.0 up), wgmma (the same,
 * capability 10.3; f16, 9.0), softmax of simt (f32, f16), warps and wide (f32), and what caches need. */
extern const attune_kernel fake_cuda_kernels[];
inline constexpr int fake_cuda_kernel_count = 14;

/** Of attune_add_kernel, in the place of split_kv_bf16_d64: its mask is "documents & causal | lengths". */
extern const attune_kernel fake_own_cuda_kernel;

} // namespace attune::runtime
