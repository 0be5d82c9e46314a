#include "dsl/spoilt_values.h"

namespace attune::dsl {

using Halide::Expr;

namespace {

uint32_t exponent_bits(Halide::Type element) { return element.is_bfloat() ? 0x7f80 : 0x7c00; }

Expr bits(uint32_t value) { return Expr(value); }

Expr is_spoilt(Halide::Type element, const Expr &half) {
    const uint32_t exponent = exponent_bits(element);
    return (half & bits(exponent)) == bits(exponent);
}

} // namespace

Expr half_of(const Expr &word, const Expr &half) { return (word >> (Halide::cast<uint32_t>(half) * 16)) & bits(0xffff); }

Expr spoilt_bits(Halide::Type element, const Expr &word) {
    // An exponent of ones carries into the sign's place, which was cleared; no other does, and none beyond it.
    const uint32_t exponent = exponent_bits(element), lowest = exponent & (~exponent + 1);
    return (word & bits(exponent << 16 | exponent)) + bits(lowest << 16 | lowest);
}

Expr finite_halves(Halide::Type element, const Expr &word) {
    // Bit 15 or 31 of a spoilt half, spread over the half: 0x8000 - 1 is the 15 bits below it, and both together are all 16.
    const Expr spoilt = spoilt_bits(element, word) & bits(0x80008000u);
    return word & ~(spoilt | (spoilt - (spoilt >> 15)));
}

Expr mark_of(Halide::Type element, const Expr &half) {
    const Expr mantissa = half & bits(~exponent_bits(element) & 0x7fff);
    const Expr infinite = select((half & bits(0x8000)) != 0, bits(2), bits(1));
    return select(is_spoilt(element, half), select(mantissa != 0, bits(3), infinite), bits(0));
}

Expr marked_value(const Expr &mark) {
    const Expr infinite = 0x7f800000u | ((mark & 2) << 30), nan = bits(0x7fffffff);
    return Halide::reinterpret<float>(select(mark == 0, bits(0), select(mark == 3, nan, infinite)));
}

} // namespace attune::dsl
