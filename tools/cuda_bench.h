// `attune bench --device cuda`: attention's rate on a GPU.
#pragma once

#include <string>
#include <vector>

#include "attune/attune.hpp"

namespace attune::tools {

/** B, Hq, Hkv, N, M, D, and what attends. */
struct CudaCase {
    int64_t batch, heads, kv_heads, queries, keys, dim;
    std::string mask;
};

struct CudaBenchOptions {
    std::vector<CudaCase> cases;        // empty: prefill and causal, D 64 and 128, 512 to 16384 tokens
    std::vector<std::string> schedules; // "": Attune's choice
    attune_type type = ATTUNE_F32;
    double seconds = 0.5; // of timing, for each case and schedule
    bool json = false;
};

/** Prints a row a case and schedule. Throws CommandError. */
void run_cuda_bench(const CudaBenchOptions &options);

} // namespace attune::tools
