// Values of 16 bits that aren't finite, and how they come to show in sums that are made of finite ones alone.
//
// A matrix product multiplies every weight with every value, and 0 times NaN is NaN: where some rows may not attend to such a value it must
// not take part. So products then take 0 in its place, and two bits for each output remember what it would have added.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** The 16 bits of half 0 (low) or 1 of a word, as u32. */
Halide::Expr half_of(const Halide::Expr &word, const Halide::Expr &half);

/** Bits of which one of the upper two is set iff one of a word's halves, bf16 or f16, isn't finite: of bits 15 and 31. */
Halide::Expr spoilt_bits(Halide::Type element, const Halide::Expr &word);

/** The word with 0 in the place of halves that aren't finite. */
Halide::Expr finite_halves(Halide::Type element, const Halide::Expr &word);

/** What a half adds beside finite ones: 0 nothing, 1 +inf, 2 -inf, 3 NaN. Marks of several halves are joined by |: +inf and -inf make NaN.
 */
Halide::Expr mark_of(Halide::Type element, const Halide::Expr &half);

/** The number to add for a mark: 0, +inf, -inf or NaN. */
Halide::Expr marked_value(const Halide::Expr &mark);

} // namespace attune::dsl
