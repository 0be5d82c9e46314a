// Powers of 2 as pairs of bf16, both made at once by arithmetic of 16 bits: a vector has twice as many numbers of 16 bits as of f32.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** Exponents as numbers of f32 in [32, 64), whose bits are numbers with a fixed point then: in the upper half of the word the whole part,
 * as the exponent of a bf16, and in the lower half the fraction. */
struct WordExponent {
    static constexpr float per_unit = 0.25f, lowest = 32.0f;
    // 2^(1/2) is in the middle of its binade, and what is to be rounded to the nearest number of bf16 is a bit further: see word_powers().
    static constexpr float of_zero = lowest + (127 + 0.5f + 0.00564656314f) * per_unit;
    // Of an x that a sum with of_zero has left enough digits of, as a multiply-add makes it: for 2^-14 of a power.
    static constexpr float most = 1024.0f;

    /** The exponent, x * per_unit + of_zero of an x of at most some 0.4, or the lowest where it is below that; NaN for NaN. */
    static Halide::Expr clamped(const Halide::Expr &exponent);
};

/** The pair, the first below, of the numbers of bf16 nearest to 2^(x + 1/2), for WordExponents of two x: within 2^-12.5 before they are
 * rounded, and exactly 0 for the lowest; below 2^-126 denormal. What is up to 2^-8 below a power of 2 becomes that, which is as far off as
 * what is above it may be. For NaN a number of at most -2^65, or NaN. Only in pipelines that lower_word_powers() was called for. */
Halide::Expr word_powers(const Halide::Expr &first, const Halide::Expr &second);

/** Turns word_powers() into operations on vectors of 16-bit numbers. */
void lower_word_powers(Halide::Pipeline pipeline);

} // namespace attune::dsl
