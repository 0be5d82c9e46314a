// Kernels that read every number of a tensor once and write one for it, so that memory is what limits them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attune/attune.hpp"
#include "bench/measure.h"

namespace attune::bench {

struct RowCase {
    std::string name;
    const char *operation; // as in attune_kernel: "softmax", "log_softmax", "layer_norm", "rms_norm", "rotary_half" or "rotary_interleaved"
    int64_t heads, rows, columns;
    attune_type dtype = ATTUNE_F32; // of input and output
    int64_t turned = 0;             // columns of rotary embedding that aren't passed; 0: all

    /** Bytes read and bytes written by one call. */
    double bytes() const { return 2.0 * double(heads * rows * columns) * double(attune_type_size(dtype)); }
};

/** Softmax over rows of several lengths, norms, and rotary embedding of a long prompt, some 128 MiB read and written each; of f32, and of
 * 16 bits where there are kernels. */
const std::vector<RowCase> &row_cases();

/** Softmax over rows of more lengths, of f32 and bf16: those by which schedules for a GPU differ. */
std::vector<RowCase> softmax_lengths();

/** The first kernel of a case's operation and type that is linked in for the device; nullptr if there is none. */
const attune_kernel *linked_kernel(const RowCase &c, attune_device device);

/** One run of a case, on the device of the tensors, which are [heads, rows, columns]. Schedule "": the default. */
Status run_rows(const RowCase &c, const std::string &schedule, const TensorView &x, const TensorView &y, Call &call);

/** What measure_rows() would answer at once: what the library says of the schedules. */
Status check_rows(const Settings &settings);

/** Times each schedule on each case in turn, as measure() does for attention, over copies of the tensors that outgrow four times the
 * last-level cache, and hands over each case's results. max_error is relative to the largest exact value. Errors: what the library says of
 * a schedule; ATTUNE_OUT_OF_MEMORY where the tensors don't fit. */
Status measure_rows(const Settings &settings, const std::function<void(const RowCase &, const CaseResult &)> &add);

} // namespace attune::bench
