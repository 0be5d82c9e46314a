// Numbers the way attention needs them: IEEE comparisons that NaN can't slip through, and exp2 to the last bit or two.
#pragma once

#include <functional>
#include <vector>

#include <Halide.h>

namespace attune::dsl {

/** a / b, rounded up; both positive, or a zero. */
inline Halide::Expr divided_up(const Halide::Expr &a, const Halide::Expr &b) { return (a + b - 1) / b; }

/** The value that marks a masked score: below every finite score, and the identity of max. */
Halide::Expr masked_score();

/** score / T, no lower than the lowest float: a score that is attended to never comes to look like a masked one. NaN for NaN. */
Halide::Expr tempered_score(const Halide::Expr &score, const Halide::Expr &temperature);

/** The polynomial c[0] + c[1] x + c[2] x^2 + ... */
Halide::Expr horner(const Halide::Expr &x, const std::vector<float> &coefficients);

/** A float quiet NaN. */
Halide::Expr nan_value();

/** a < b, a == b, a + b, a - b and a * b exactly as IEEE 754 says, NaN included. Halide's own operators assume there is no NaN or Inf, and
 * `strict_float` would take the whole expression's fused multiply-adds with it; these are strict at this one operation. */
Halide::Expr strict_less(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr strict_equal(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr strict_add(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr strict_subtract(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr strict_multiply(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr strict_divide(const Halide::Expr &a, const Halide::Expr &b);

/** The bits of |x|, of f32, as an integer: they order as |x| does, with Inf and NaN on top, and no floating-point assumption can hide a
 * NaN. */
Halide::Expr magnitude_bits(const Halide::Expr &x);

/** The same of any type, as unsigned integers of its size. */
Halide::Expr magnitude(const Halide::Expr &x);

/** x, of f32, or nan_value() for Inf and for any NaN: of one of other bits, rounding to fewer might make a number. */
Halide::Expr nan_unless_finite(const Halide::Expr &x);

/** `then` where the scalar condition holds, else `otherwise`, as a branch: only one side is computed. */
Halide::Expr branch(const Halide::Expr &condition, const Halide::Expr &then, const Halide::Expr &otherwise);

/** a * b + c, rounded once, as an instruction of a machine; empty where it has none. */
using MultiplyAdd = std::function<Halide::Expr(const Halide::Expr &a, const Halide::Expr &b, const Halide::Expr &c)>;

/** 2^(x * scale) for x * scale <= 0, in f32, as exact as a number that is then rounded to a type need be: for bf16 within some 2^-18 of the
 * exact value of the f32 product, relative, else at most 2 ulp. Exactly 0 below 2^-125.5, NaN for NaN, 1 for 0. With `multiply_add` it is
 * the power of the exact product, and takes an operation less. */
Halide::Expr exp2_scaled(const Halide::Expr &x, const Halide::Expr &scale, const Halide::Type &type = Halide::Float(32),
                         const MultiplyAdd &multiply_add = {});

/** 4^x for x <= 0, in f32, within 2 ulp. Exactly 0 below -62.75, NaN for NaN, 1 for 0. */
Halide::Expr power_of_4(const Halide::Expr &x);

/** 2^(x + 1/2) for x <= 0, as below. */
Halide::Expr exp2_half_to_bfloat16(const Halide::Expr &x);

/** 2^(x * scale) for x * scale <= 0, whose upper 16 bits are the nearest number of bf16: the f32 rounded is within 2^-13 of the exact
 * value, relative. 1 for 0, exactly 0 below 2^-126, NaN for NaN. */
Halide::Expr exp2_scaled_to_bfloat16(const Halide::Expr &x, const Halide::Expr &scale);

/** ln x for x >= 0, in f32, within 1 ulp: -inf for 0, +inf for +inf, NaN for NaN. On a CPU the same bits wherever a kernel takes it (for
 * GPUs LLVM joins what is strict, too). */
Halide::Expr natural_log(const Halide::Expr &x);

/** A cap c > 0 and 1 / c, both normal numbers. */
struct Cap {
    Halide::Expr size, reciprocal;

    Cap(const Halide::Expr &size, const Halide::Expr &reciprocal) : size(size), reciprocal(reciprocal) {}
    explicit Cap(const Halide::Expr &c);
};

/** c tanh(x / c) for c > 0 (soft capping, Gemma 2, arXiv 2408.00118, section 2); NaN for NaN. */
Halide::Expr softcap(const Halide::Expr &x, const Cap &cap);

/** base^exponent for base > 0, in f64: within some 1e-15 times |exponent ln base|. CUDA's own function is a call, which no kernel is to
 * make. */
Halide::Expr raised(const Halide::Expr &base, const Halide::Expr &exponent);

/** sin and cos of 2 pi t, for t in turns (f64, any size): within 2e-7. The whole turns are taken off in f64, so that the
 * angle of position 1,000,000 is as good as that of position 1. */
Halide::Expr sin_turns(const Halide::Expr &turns);
Halide::Expr cos_turns(const Halide::Expr &turns);

} // namespace attune::dsl
