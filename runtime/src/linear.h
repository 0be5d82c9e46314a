// What attune_linear_create settles once.
#pragma once

#include <vector>

#include "linear_weights.h"
#include "status.h"

struct attune_linear {
    const attune_kernel *kernel = nullptr;
    const attune_kernel *one_row = nullptr; // for one row, and for few, where the choice is Attune's
    const attune_kernel *few_rows = nullptr;
    attune_type dtype = ATTUNE_F32;
    int64_t in = 0;
    int64_t out = 0;
    bool gated = false;
    attune_activation activation = ATTUNE_ACTIVATION_NONE;
    attune::runtime::PackedWeights weights;
    std::vector<float> bias;  // of every column of the panels
    std::vector<float> zeros; // a row of them, for a run without a residual
};

namespace attune::runtime {

/** The kernel for that many rows. */
const attune_kernel &kernel_for(const attune_linear &linear, int64_t rows);

} // namespace attune::runtime
