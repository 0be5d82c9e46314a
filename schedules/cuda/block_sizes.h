// Queries and keys that a block of threads works on at once, and so can skip. Without Halide: `attune explain` includes it, too.
#pragma once

#include <cstdint>

namespace attune::schedules {

struct CudaBlock {
    int queries, keys;
};

/** By the width of the kernel; 0 is any. */
constexpr CudaBlock simt_block(int head_dim) { return {head_dim == 64 || head_dim == 128 ? 64 : 32, 64}; }
constexpr CudaBlock mma_block(int head_dim) { return {head_dim > 128 ? 64 : 128, head_dim > 192 ? 16 : 32}; }
/** Whether two thread blocks by wgmma share a multiprocessor. */
constexpr bool wgmma_shares(int head_dim) { return head_dim == 64; }
constexpr CudaBlock wgmma_block(int head_dim) { return {128, wgmma_shares(head_dim) || head_dim > 128 ? 64 : 128}; }
/** Its queries are rows: (query, head) pairs of a key/value head. */
constexpr CudaBlock split_kv_block(int head_dim, bool tensor_cores) {
    return {16, tensor_cores ? mma_block(head_dim).keys : simt_block(head_dim).keys};
}

} // namespace attune::schedules
