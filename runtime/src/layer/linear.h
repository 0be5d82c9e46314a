// What attune_linear_create settles once.
#pragma once

#include <initializer_list>
#include <vector>

#include "runtime/src/layer/linear_weights.h"
#include "runtime/src/status.h"

struct attune_linear {
    const attune_kernel *kernel = nullptr;
    const attune_kernel *one_row = nullptr; // for one row, for few and for up to eight, where the choice is Attune's
    const attune_kernel *few_rows = nullptr;
    const attune_kernel *eight_rows = nullptr;
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

/** Some of a layer's outputs. */
struct Columns {
    int64_t first = 0; // of a panel
    int64_t count = 0;
};

/** One of several layers of the same inputs, in one: what its outputs are called in errors, and where they then are. */
struct StackedLayer {
    const char *name;
    const attune_tensor *weight;
    const attune_tensor *bias; // nullptr: none
    Columns *columns;
};

/** A layer that gives the outputs of all, each from a panel's first column on. Columns between them are 0. */
Status make_stacked(attune_type dtype, std::initializer_list<StackedLayer> layers, attune_linear &linear);

/** attune_linear_run() for some of the columns, which is what y and residual have. */
Status run_columns(const attune_linear &linear, const Columns &columns, const attune_linear_args &args, attune_call *call);

} // namespace attune::runtime
