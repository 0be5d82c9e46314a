#include "dsl/products.h"

#include "dsl/numeric.h"
#include "dsl/words.h"

namespace attune::dsl {

using Halide::cast;
using Halide::Expr;
using Halide::reinterpret;

namespace {

Expr literal(uint32_t bits) { return Expr(bits); }

Expr upper_half(const Expr &bits) { return bits & literal(0xffff0000); }

Expr bits_of(const Expr &x) { return reinterpret<uint32_t>(x); }

// Only past infinity this reaches the sign: x86 selects by that as it is, and before AVX-512 has no comparison of magnitudes. (As a signed
// number it is no less than 0 for all that Halide's simplifier knows.)
Expr past_infinity(const Expr &x) { return (bits_of(x) & literal(0x7fffffff)) + literal(0x007fffff); }
Expr is_past_infinity(const Expr &x) { return past_infinity(x) > literal(0x7fffffff); }

// Bits of f32 whose upper half is the nearest bf16; the lower half is of no account.
Expr rounded_bits(const Expr &x, bool blends) {
    Expr bits = bits_of(x), rounded = bits + literal(0x7fff) + ((bits >> 16) & literal(1));
    // Or else the NaN whose bits are all ones.
    return blends ? select(is_past_infinity(x), literal(0x7fc00000), rounded) : rounded | (literal(0) - (past_infinity(x) >> 31));
}

} // namespace

Expr as_float(const Expr &x) {
    if (!x.type().is_bfloat()) return cast<float>(x);
    return reinterpret<float>(cast<uint32_t>(reinterpret<uint16_t>(x)) << 16);
}

Expr as_type(const Halide::Type &type, const Expr &x, const Rounding &rounding) {
    if (type.is_bfloat())
        return reinterpret(type, rounding.to_bfloat16 ? rounding.to_bfloat16(x) : cast<uint16_t>(rounded_bits(x, rounding.blends) >> 16));
    if (type.bits() == 32 || rounding.float16_keeps_nan) return cast(type, x);
    Expr converted = reinterpret<uint16_t>(cast(type, x));
    return reinterpret(type, select(is_past_infinity(x), cast<uint16_t>(0x7e00), converted));
}

Expr round_to_bfloat16(const Expr &x) { return reinterpret<float>(upper_half(rounded_bits(x, true))); }

Expr cut_to_bfloat16(const Expr &x) { return reinterpret<float>(upper_half(bits_of(x))); }

Expr add_pair_product(const Expr &sum, const Expr &a, const Expr &b) {
    return sum + bfloat16_of_words(a, 0) * bfloat16_of_words(b, 0) + bfloat16_of_words(a, 1) * bfloat16_of_words(b, 1);
}

Expr Products::pack(const Term &term) const {
    if (!pairs) return term(0);
    return (bits_of(term(0)) >> 16) | upper_half(bits_of(term(1)));
}

Expr Products::unpack(const Expr &packed, const Expr &which) const {
    if (!pairs) return packed;
    return reinterpret<float>((packed >> (16 * cast<uint32_t>(which))) << 16);
}

Expr Products::add(const Expr &sum, const Expr &a, const Expr &b) const {
    if (pairs) return add_pair(sum, a, b);
    return add_single ? add_single(sum, a, b) : sum + a * b;
}

Expr Products::magnitude_bits(const Expr &packed) const {
    if (!pairs) return dsl::magnitude_bits(packed);
    Expr bits = reinterpret<int32_t>(packed);
    return max(bits & 0x7fff0000, (bits << 16) & 0x7fff0000);
}

} // namespace attune::dsl
