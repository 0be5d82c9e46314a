#include "dsl/products.h"

#include "dsl/numeric.h"

namespace attune::dsl {

using Halide::cast;
using Halide::Expr;
using Halide::reinterpret;

namespace {

Expr literal(uint32_t bits) { return Expr(bits); }

Expr upper_half(const Expr &bits) { return bits & literal(0xffff0000); }

Expr bits_of(const Expr &x) { return reinterpret<uint32_t>(x); }

Expr bits_of_nan(const Expr &bits) { return (bits & literal(0x7fffffff)) > literal(0x7f800000); }

// Bits of f32 whose upper half is the nearest bf16; the lower half is of no account.
Expr rounded_bits(const Expr &x) {
    Expr bits = bits_of(x);
    // The payload of a NaN may lie in the lower half: one bit of the upper keeps it a NaN.
    return select(bits_of_nan(bits), bits | literal(0x00400000), bits + literal(0x7fff) + ((bits >> 16) & literal(1)));
}

} // namespace

Expr as_float(const Expr &x) {
    if (!x.type().is_bfloat()) return cast<float>(x);
    return reinterpret<float>(cast<uint32_t>(reinterpret<uint16_t>(x)) << 16);
}

Expr as_type(const Halide::Type &type, const Expr &x, const ToBFloat16 &to_bfloat16) {
    if (type.bits() == 32) return cast(type, x);
    if (type.is_bfloat() && to_bfloat16) return reinterpret(type, to_bfloat16(x));
    if (type.is_bfloat()) return reinterpret(type, cast<uint16_t>(rounded_bits(x) >> 16));
    // Where the CPU can't convert, Halide's arithmetic makes Inf of NaN.
    Expr converted = reinterpret<uint16_t>(cast(type, x));
    return reinterpret(type, select(bits_of_nan(bits_of(x)), cast<uint16_t>(0x7e00), converted));
}

Expr round_to_bfloat16(const Expr &x) { return reinterpret<float>(upper_half(rounded_bits(x))); }

Expr cut_to_bfloat16(const Expr &x) { return reinterpret<float>(upper_half(bits_of(x))); }

Expr add_pair_product(const Expr &sum, const Expr &a, const Expr &b) {
    auto low = [](const Expr &pair) { return reinterpret<float>(pair << 16); };
    auto high = [](const Expr &pair) { return reinterpret<float>(upper_half(pair)); };
    return sum + low(a) * low(b) + high(a) * high(b);
}

Expr Products::pack(const Term &term) const {
    if (!pairs) return term(0);
    return (bits_of(term(0)) >> 16) | upper_half(bits_of(term(1)));
}

Expr Products::unpack(const Expr &packed, const Expr &which) const {
    if (!pairs) return packed;
    return reinterpret<float>((packed >> (16 * cast<uint32_t>(which))) << 16);
}

Expr Products::add(const Expr &sum, const Expr &a, const Expr &b) const { return pairs ? add_pair(sum, a, b) : sum + a * b; }

Expr Products::magnitude_bits(const Expr &packed) const {
    if (!pairs) return dsl::magnitude_bits(packed);
    Expr bits = reinterpret<int32_t>(packed);
    return max(bits & 0x7fff0000, (bits << 16) & 0x7fff0000);
}

} // namespace attune::dsl
