// Test doubles for generated kernels: plain C++ behind the same entry points. They show what the runtime hands over, without Halide's
// compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/attune.h"

namespace attune::runtime {

/** What the fake kernels saw since clear(): of the last attention or weights kernel, but for the names. */
struct Seen {
    std::vector<std::string> kernels; // names, in the order they ran
    std::vector<int32_t> offsets, lengths, params;
    std::vector<int32_t> query_documents, key_documents; // batch items one after the other
    std::vector<int64_t> block_map;                      // extents, outermost first
    std::vector<float> query_position, key_position;     // batch, token, plane, channel: all values
    int32_t intervals = 0;                               // extent R
    int32_t head_stride = 0;                             // of the intervals
    float scale = 0, softcap = 0, temperature = 0;
    uint32_t dropout_threshold = 0, seed_low = 0, seed_high = 0;
    int32_t use_attend = 0, use_bias = 0, use_relative = 0, use_sinks = 0;
    std::vector<int32_t> stages;          // of each call of a weights kernel
    std::vector<int64_t> least_streamed;  // what the runtime says to each call of a rotary kernel
    int32_t type_code = 0, type_bits = 0; // of q
    void clear() { *this = Seen(); }
};
Seen &seen();

/** While true, attention kernels report an error of their own and return a code. */
bool &fail_next_kernel();

/** Attention in float64 by the arguments' meaning; it knows no compiled-in text but that of causal_window_kernel. */
int run_fake_attention(const char *name, void **arguments);
int run_fake_weights(const char *name, void **arguments);
/** Only note what they see: for other types than f32. */
int note_fake_attention(const char *name, void **arguments);
int note_fake_weights(const char *name, void **arguments);

inline constexpr const char *fake_targets = "x86-64-linux-sse41-avx-f16c-fma-avx2,x86-64-linux";

/** As attune_add_kernel emits them. */
extern const attune_kernel causal_window_kernel; // "causal & window(reach, 0)": one parameter, compiled in
extern const attune_kernel opaque_kernel;        // from C++ source: no text
extern const attune_kernel foreign_kernel;
extern const attune_kernel pattern_kernel; // every term that needs memory, some under |; block sizes and dilation are parameters
extern const attune_kernel scored_kernel;  // with a score and a position

} // namespace attune::runtime
