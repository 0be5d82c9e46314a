// The textual position language, as plain data: "rotary(half, base=500000, scaling=llama3(8, 1, 4, 8192))".
//
//   position := none | learned | sinusoidal [ "(" base=number ")" ] | rotary "(" layout { "," option } ")"
//   layout   := half | interleaved
//   option   := base=number | width=integer | scaling=scaling | sections=mrope(integer, integer, ...) | axes=integer | alignment
//   scaling  := linear(s) | ntk(s) | yarn(s, original [, beta_fast, beta_slow]) | llama3(s, low, high, original)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mask.h"

namespace attune::text {

enum class PositionKind { none, rotary, sinusoidal, learned };

enum class RotaryLayout { half, interleaved };

enum class ScalingKind { none, linear, ntk, yarn, llama3 };

/** How rotary frequencies are stretched for contexts longer than the model was trained on.
 *  linear: positions over `factor` (Chen et al., arXiv 2306.15595). ntk: base times factor^(R / (R - 2)) ("NTK-aware scaled RoPE").
 *  yarn: interpolated by wavelength, and cos and sin times 0.1 ln(factor) + 1 (Peng et al., arXiv 2309.00071, section 3).
 *  llama3: the three bands of wavelengths of Llama 3.1's published code. */
struct RotaryScaling {
    ScalingKind kind = ScalingKind::none;
    double factor = 1;        // >= 1
    double original = 0;      // yarn, llama3: context length of training, tokens
    double beta_fast = 32;    // yarn: turns within `original` from which a pair isn't interpolated
    double beta_slow = 1;     // yarn: turns up to which it is wholly
    double low = 1, high = 4; // llama3: original / wavelength below which a pair is stretched, above which it isn't
};

struct Position {
    PositionKind kind = PositionKind::none;
    RotaryLayout layout = RotaryLayout::half;
    double base = 10000;
    int32_t width = 0; // of rotary: leading channels turned, even; 0: all of D
    RotaryScaling scaling;
    std::vector<int32_t> sections; // M-RoPE: pairs that follow each stream of positions; empty: one stream
    int32_t axes = 1;              // equal shares of the width, each an embedding of its own with its own stream of positions
    Alignment alignment = Alignment::unnamed;

    /** Streams of positions it reads: sections, or axes. */
    int32_t streams() const { return sections.empty() ? axes : static_cast<int32_t>(sections.size()); }
};

/** A position, or one sentence that says what is wrong at which column (from 1). */
struct PositionResult {
    Position position;
    std::string error;
    int32_t column = 0;

    bool ok() const { return error.empty(); }
};

PositionResult parse_position(std::string_view text);

/** The same for the scaling alone: "llama3(8, 1, 4, 8192)"; position.scaling holds it. */
PositionResult parse_scaling(std::string_view text);

} // namespace attune::text
