// `attune bench --device cuda`: rates on a GPU.
#pragma once

#include <string>
#include <vector>

#include "bench/cases.h"

namespace attune::tools {

struct CudaBenchOptions {
    std::vector<bench::Case> cases;     // empty: prefill and causal, D 64 and 128, 512 to 16384 tokens; decoding, 1 to 64 items
    std::vector<std::string> schedules; // "": Attune's choice
    attune_type type = ATTUNE_F32;
    double seconds = 0.5; // of timing, for each case and schedule
    bool json = false;
};

/** Attention: prints a row a case and schedule. Throws CommandError. */
void run_cuda_bench(const CudaBenchOptions &options);

/** Those of bench::row_cases() and bench::softmax_lengths() that there are kernels for, as long as it takes to outgrow the cache, beside
 * the rate of copying. */
void run_cuda_rows(const CudaBenchOptions &options);

} // namespace attune::tools
