// Positional encodings: the sinusoidal table and rotary embedding.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** base^(-2 pair / width) in f64: radians a position for the pair of channels. */
Halide::Expr inverse_frequency(const Halide::Expr &base, const Halide::Expr &pair, const Halide::Expr &width);

/** The sinusoidal table (Vaswani et al., arXiv 1706.03762, section 3.5): channel 2k of position p is sin(p base^(-2k/width)), channel
 * 2k + 1 the cosine. */
struct Sinusoidal {
    Halide::Func turns_per_token; // f64 (pair)
    Halide::Func table;           // f32 (dim, token)
};

/** `width`: channels, odd allowed (the last is a sine). Row t is position t + offset. */
Sinusoidal sinusoidal(const Halide::Expr &width, const Halide::Expr &base, const Halide::Expr &offset);

/** Which channels rotary embedding takes as a pair. */
enum class RotaryLayout {
    half,       // (k, k + R/2): GPT-NeoX, Llama
    interleaved // (2k, 2k + 1): the paper, GPT-J
};

/** Rotary embedding (Su et al., arXiv 2104.09864, eq. 34): pair k of the token at position p is turned by p base^(-2k/R). */
struct Rotary {
    Halide::Func turns_per_token; // f64 (pair)
    Halide::Func cosine, sine;    // f32 (pair, token): shared by all heads and batch items
    Halide::Func result;          // (dim, token, head, batch)
    Halide::Func output;          // the same: a row is whole before any of it is stored, so that x may be overwritten
};

/** `x`: (dim, token, head, batch). The first `rotary_dim` channels (R, even) are turned, the others pass. Token t has position
 * t + offset. */
Rotary rotary(const Halide::Func &x, RotaryLayout layout, const Halide::Expr &rotary_dim, const Halide::Expr &base,
              const Halide::Expr &offset);

} // namespace attune::dsl
