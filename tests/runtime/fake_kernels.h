// Test doubles for generated kernels: plain C++ behind the same entry points. They show what the runtime hands over, without Halide's
// compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/attune.h"

namespace attune::runtime {

/** What the fake kernels saw since clear(). */
struct Seen {
    std::vector<std::string> kernels; // names, in the order they ran
    std::vector<int32_t> offsets;     // of the last attention kernel, per batch item
    std::vector<int32_t> params;
    int32_t intervals = 0; // extent R
    float scale = 0, softcap = 0, temperature = 0;
    int32_t use_attend = 0, use_bias = 0;
    void clear() { *this = Seen(); }
};
Seen &seen();

/** While true, attention kernels report an error of their own and return a code. */
bool &fail_next_kernel();

/** As attune_add_kernel emits them. */
extern const attune_kernel causal_window_kernel; // "causal & window(reach, 0)": one parameter, compiled in
extern const attune_kernel opaque_kernel;        // from C++ source: no text
extern const attune_kernel foreign_kernel;

} // namespace attune::runtime
