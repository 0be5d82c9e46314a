// How fast rotary embedding turns each pair of channels, and the ways to slow it for longer contexts.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** Ways to stretch rotary frequencies; the values are those of the kernel argument `scaling`. */
enum class RotaryScaling {
    none,
    linear, // frequencies over `factor` (Chen et al., arXiv 2306.15595)
    ntk,    // base times factor^(W / (W - 2)): the slowest pair is stretched by `factor`, the fastest not at all
    yarn,   // interpolated by wavelength, cos and sin times 0.1 ln(factor) + 1 (Peng et al., arXiv 2309.00071, sections 3.2 to 3.4)
    llama3  // interpolated by wavelength between two bounds, as Llama 3.1's published code
};

/** What frequencies follow from. All but `width` and `scaling` are f64. */
struct FrequencyInputs {
    Halide::Expr width;     // W, even: channels of one embedding
    Halide::Expr base;      // > 0; > 1 for yarn
    Halide::Expr scaling;   // i32, a RotaryScaling
    Halide::Expr factor;    // >= 1
    Halide::Expr original;  // yarn, llama3: tokens of the context trained on
    Halide::Expr low, high; // yarn: beta_slow, beta_fast; llama3: low_freq_factor < high_freq_factor
};

struct Frequencies {
    Halide::Func shared;          // f64 (which): what all pairs have in common, worked out once
    Halide::Func turns_per_token; // f64 (pair), turns of 2 pi each; past W / 2 pairs they begin anew
    Halide::Func magnitude;       // f32 (): what cos and sin are multiplied by; 1 but for yarn
};

/** base^(-2 pair / width) in f64: radians a position for the pair of channels. */
Halide::Expr inverse_frequency(const Halide::Expr &base, const Halide::Expr &pair, const Halide::Expr &width);

/** Unscaled: turns_per_token f64 (pair). */
Halide::Func plain_turns_per_token(const Halide::Expr &width, const Halide::Expr &base);

/** Scaled. Yarn's bounds are whole pairs, rounded outwards, as the transformers library's `truncate=True`. */
Frequencies frequencies(const FrequencyInputs &inputs);

} // namespace attune::dsl
