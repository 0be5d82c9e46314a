// Masks as kernels for CUDA take them: one window of keys around each query, and a number of keys for each batch item.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/src/status.h"
#include "text/mask.h"

namespace attune::runtime {

inline constexpr int64_t no_limit = int64_t{1} << 30;            // of left and right
inline constexpr int64_t most_tokens_on_cuda = int64_t{1} << 28; // N and M
inline constexpr int64_t most_offset_on_cuda = int64_t{1} << 29; // of either sign: sums of these stay within 32 bits

/** `&` of causal, window, lengths and none. */
struct CudaMask {
    struct Window {
        int64_t left, right; // no_limit: none
        text::Alignment alignment;
    };
    std::vector<Window> windows;
    bool lengths = false;
};

/** UNSUPPORTED, naming the term, for masks that aren't of that form. */
Status read_cuda_mask(const text::Mask &mask, CudaMask &read);

/** What a run knows of positions. `alibi` is the alignment of ALiBi where the score has it. */
struct CudaPositions {
    int64_t queries, keys;
    bool has_offset, has_offsets;
    int64_t offset;
    bool use_alibi;
    text::Alignment alibi;
    bool compiled_in = false; // a mask that is compiled in looks at the offset
};

/** Query i attends to keys i + offset - left ... i + offset + right, with its item's own offset in the place of `offset` where
 * `use_offsets`. */
struct CudaWindow {
    bool use_offsets = false;
    int32_t mask_offset = 0; // the offset that a mask that is compiled in counts from
    int32_t offset = 0, left = static_cast<int32_t>(no_limit), right = static_cast<int32_t>(no_limit);
};

Status place_cuda_mask(const CudaMask &mask, const CudaPositions &at, CudaWindow &window);

} // namespace attune::runtime
