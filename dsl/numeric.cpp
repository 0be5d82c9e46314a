#include "dsl/numeric.h"

#include <limits>

namespace attune::dsl {

using Halide::Expr;
using Halide::Internal::Call;

namespace {

Expr intrinsic(Call::IntrinsicOp op, Halide::Type type, const std::vector<Expr> &args) {
    return Call::make(type, op, args, Call::PureIntrinsic);
}

// The position within the turn, in [-0.5, 0.5].
Expr fraction_of_turn(const Expr &turns) { return Halide::cast<float>(turns - Halide::round(turns)); }

// sin(2 pi t) for t in [-0.25, 0.25]: odd Taylor terms of sin(x) in x = 2 pi t to x^11, whose next term is below 6e-8.
Expr sin_quarter(const Expr &t) {
    Expr x = t * 6.28318530717958647692f, x2 = x * x;
    Expr tail = horner(x2, {-1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880, -1.0f / 39916800});
    return x + x * x2 * tail;
}

} // namespace

Expr horner(const Expr &x, const std::vector<float> &coefficients) {
    Expr sum = coefficients.back();
    for (size_t i = coefficients.size() - 1; i-- > 0;)
        sum = sum * x + coefficients[i];
    return sum;
}

Expr masked_score() { return Halide::Float(32).min(); }

Expr tempered_score(const Expr &score, const Expr &temperature) {
    const float lowest = std::numeric_limits<float>::lowest();
    Expr tempered = score / temperature;
    return select(strict_less(tempered, lowest), lowest, tempered);
}

Expr nan_value() { return Halide::reinterpret<float>(Expr(uint32_t(0x7fc00000))); }

Expr strict_less(const Expr &a, const Expr &b) { return intrinsic(Call::strict_lt, Halide::Bool(), {a, b}); }

Expr strict_equal(const Expr &a, const Expr &b) { return intrinsic(Call::strict_eq, Halide::Bool(), {a, b}); }

Expr strict_add(const Expr &a, const Expr &b) { return intrinsic(Call::strict_add, a.type(), {a, b}); }

Expr strict_subtract(const Expr &a, const Expr &b) { return intrinsic(Call::strict_sub, a.type(), {a, b}); }

Expr strict_multiply(const Expr &a, const Expr &b) { return intrinsic(Call::strict_mul, a.type(), {a, b}); }

Expr strict_divide(const Expr &a, const Expr &b) { return intrinsic(Call::strict_div, a.type(), {a, b}); }

Expr magnitude_bits(const Expr &x) { return Halide::reinterpret<int32_t>(x) & 0x7fffffff; }

Expr nan_unless_finite(const Expr &x) {
    const int32_t infinite_bits = 0x7f800000;
    return select(magnitude_bits(x) < infinite_bits, x, nan_value());
}

Expr magnitude(const Expr &x) {
    const Halide::Type bits = Halide::UInt(x.type().bits(), x.type().lanes());
    return Halide::reinterpret(bits, x) & (bits.max() >> 1);
}

Expr branch(const Expr &condition, const Expr &then, const Expr &otherwise) {
    return intrinsic(Call::if_then_else, then.type(), {condition, then, otherwise});
}

namespace {

// Fits of 2^f on [-0.5, 0.5]. For bf16 minimax, within 2.8e-6; else the one with the least distance in ulps over all f, with the rounding
// of each step: 1.76 where steps are fused, 1.89 where they aren't.
std::vector<float> coefficients_of_exp2(const Halide::Type &type) {
    if (type.is_bfloat()) return {1.0f, 0.693124175f, 0.240240991f, 0.0559064262f, 0.00958285294f};
    return {1.0f, 0.693146706f, 0.24022229f, 0.0555108637f, 0.00967212487f, 0.00131642714f};
}

// Adding 1.5 * 2^23 rounds to a whole number n, which then sits in the low bits: no conversion instruction is needed, and the same bits,
// shifted, are 2^n (127 is the exponent's bias).
constexpr float round_shift = 12582912.0f + 127.0f, lowest_exponent = -125.0f;

// 2^(n + f) of `shifted`, which is n + round_shift, and 2^f. The product, and not an addition to the bits, keeps every NaN a NaN.
Expr power_of_parts(const Expr &shifted, const Expr &power_of_fraction, float units = 1) {
    const Expr whole = Halide::reinterpret<float>(Halide::reinterpret<int32_t>(shifted) << 23);
    return select(strict_less(shifted, (round_shift + lowest_exponent) / units), 0.0f, power_of_fraction * whole);
}

// 2^(units x) for x <= 0, by the coefficients of 2^f; `units` is a power of 2.
Expr power_of_2(const Expr &x, float units, std::vector<float> coefficients) {
    Expr shifted = x + round_shift / units;
    Expr fraction = x - strict_subtract(shifted, round_shift / units);
    float power_of_units = 1;
    for (float &coefficient : coefficients)
        coefficient *= power_of_units, power_of_units *= units;
    return power_of_parts(shifted, horner(fraction, coefficients), units);
}

} // namespace

Expr exp2_scaled(const Expr &x, const Expr &scale, const Halide::Type &type, const MultiplyAdd &multiply_add) {
    const std::vector<float> coefficients = coefficients_of_exp2(type);
    if (!multiply_add) return power_of_2(x * scale, 1, coefficients);
    const Expr shifted = multiply_add(x, scale, round_shift), fraction = multiply_add(x, scale, strict_subtract(round_shift, shifted));
    return power_of_parts(shifted, horner(fraction, coefficients));
}

Expr power_of_4(const Expr &x) { return power_of_2(x, 2, coefficients_of_exp2(Halide::Float(32))); }

Expr exp2_half_to_bfloat16(const Expr &x) {
    // As above, but with n the whole number nearest to x the fraction's power 2^(f + 1/2) lies in one binade, [1, 2], where half an ulp of
    // bf16 is 2^-8: added to the constant, it makes of cutting bits off rounding to nearest. The polynomial is the minimax fit, within
    // 7.5e-5. At the lower end n + 127 = 0, and the shifted bits are the number 0.
    const float lowest = -127.0f, half_ulp = 0.00390625f;
    Expr power_of = select(strict_less(x, lowest), lowest, x);
    Expr shifted = power_of + round_shift;
    Expr fraction = power_of - strict_subtract(shifted, round_shift);
    Expr power = horner(fraction, {1.41411185f + half_ulp, 0.9804191f, 0.343103945f, 0.0780245215f});
    return power * Halide::reinterpret<float>(Halide::reinterpret<int32_t>(shifted) << 23);
}

Expr exp2_scaled_to_bfloat16(const Expr &x, const Expr &scale) { return exp2_half_to_bfloat16(x * scale - 0.5f); }

Expr natural_log(const Expr &x) {
    const Expr infinity = Halide::Float(32).max();
    const Expr finite = strict_less(x, infinity) && strict_less(0.0f, x);
    // A denormal's exponent doesn't show in its bits.
    const int shift = 24, bits_of_three_quarters = 0x3f400000, mantissa = 23;
    const Expr denormal = strict_less(x, 1.17549435e-38f);
    const Expr normal = select(finite, select(denormal, x * float(1 << shift), x), 1.0f);
    // x = 2^n (1 + f) with f in [-1/4, 1/2). With s = f / (2 + f), ln (1 + f) = 2 artanh s = f - (f^2 / 2 - s (f^2 / 2 + r)), where r is
    // the series of 2 artanh(s) / s from s^2 on (FreeBSD's msun, e_logf.c): what is rounded is small beside f. What five terms leave out is
    // less than 2^-31 of the logarithm.
    const Expr bits = Halide::reinterpret<int32_t>(normal);
    const Expr exponent = (bits - bits_of_three_quarters) >> mantissa;
    const Expr f = strict_subtract(Halide::reinterpret<float>(bits - (exponent << mantissa)), 1.0f);
    const Expr s = f / strict_add(f, 2.0f), s2 = strict_multiply(s, s), half = strict_multiply(strict_multiply(f, f), 0.5f);
    const Expr r = strict_multiply(s2, horner(s2, {2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9, 2.0f / 11}));
    // The upper 16 bits of ln 2, whose products with exponents are exact, and the rest. Each step is strict: of a sum of two products, or
    // of three numbers, LLVM would choose what to join, and not alike in all the places that a kernel takes a logarithm in.
    const Expr n = Halide::cast<float>(exponent - select(denormal, shift, 0));
    const Expr upper = strict_multiply(n, 0.693145751953125f), lower = strict_multiply(n, 1.42860677e-6f);
    const Expr small = strict_add(strict_multiply(s, strict_add(half, r)), lower);
    const Expr log = strict_subtract(upper, strict_subtract(strict_subtract(half, small), f));
    return select(finite, log, strict_equal(x, 0.0f), masked_score(), x);
}

Cap::Cap(const Expr &c) : size(clamp(c, 1.2e-38f, 8e37f)), reciprocal(1.0f / size) {}

Expr softcap(const Expr &x, const Cap &cap) {
    // tanh(y) = (1 - e) / (1 + e) with e = 2^(-2 |y| log2 e), odd in y. One division, which takes as long as half of all else.
    Expr y = abs(x) * cap.reciprocal;
    Expr e = exp2_scaled(-y, 2.8853900817779268f);
    Expr magnitude = (1.0f - e) / (1.0f + e);
    // Below 0.01 the difference 1 - e loses digits: there tanh(y) = y - y^3 / 3 + 2 y^5 / 15.
    Expr small = y * horner(y * y, {1.0f, -1.0f / 3, 2.0f / 15});
    const Expr sign = Halide::reinterpret<uint32_t>(x) & Expr(0x80000000u);
    const Expr tanh = select(strict_less(y, 0.01f), small, magnitude);
    return cap.size * Halide::reinterpret<float>(Halide::reinterpret<uint32_t>(tanh) | sign);
}

Expr raised(const Expr &base, const Expr &exponent) { return exp(exponent * log(base)); }

Expr sin_turns(const Expr &turns) {
    Expr t = fraction_of_turn(turns);
    Expr folded = select(abs(t) <= 0.25f, t, select(t < 0.0f, -0.5f - t, 0.5f - t));
    return sin_quarter(folded);
}

Expr cos_turns(const Expr &turns) {
    return sin_quarter(0.25f - abs(fraction_of_turn(turns))); // cos(a) = sin(pi / 2 - |a|), and 0.25 - |t| is exact
}

} // namespace attune::dsl
