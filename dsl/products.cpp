#include "dsl/products.h"

#include <utility>
#include <vector>

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

// What was between two numbers of bf16 has become 0x8000 more, and its lower half 0: then the even one of both is below, or is this.
Expr ties_to_even(const Expr &half_more) {
    return select((half_more & literal(0xffff)) == literal(0), half_more & literal(0xfffeffff), half_more);
}

// Bits of f32 whose upper half is the nearest bf16; the lower half is of no account. A NaN is seen to where it might run over.
Expr rounded_bits(const Expr &x, const Rounding &rounding, NaN may_be) {
    const bool any_nan = may_be == NaN::any || !rounding.makes_short_nan;
    const Expr nan = literal(0x7fc00000);
    if (rounding.masks) { // a comparison and an operation under its mask, where a bit shifted down and added takes three
        const Expr half_more = bits_of(x) + literal(0x8000);
        return ties_to_even(any_nan ? select(magnitude(x) > literal(0x7f800000), nan, half_more) : half_more);
    }
    const Expr rounded = rounded_to_upper_half(bits_of(x));
    if (!any_nan) return rounded;
    if (rounding.blends) return select(is_past_infinity(x), nan, rounded);
    return rounded | (literal(0) - (past_infinity(x) >> 31)); // the NaN whose bits are all ones
}

} // namespace

Expr rounded_to_upper_half(const Expr &bits) { return bits + literal(0x7fff) + ((bits >> 16) & literal(1)); }

Expr as_float(const Expr &x) {
    if (!x.type().is_bfloat()) return cast<float>(x);
    return reinterpret<float>(cast<uint32_t>(reinterpret<uint16_t>(x)) << 16);
}

Expr as_type(const Halide::Type &type, const Expr &x, const Rounding &rounding, NaN nan) {
    if (type.is_bfloat()) {
        if (rounding.to_bfloat16) return reinterpret(type, rounding.to_bfloat16(x));
        const Expr bits = rounded_bits(x, rounding, nan);
        return reinterpret(type, rounding.masks ? upper_half_of(bits) : cast<uint16_t>(bits >> 16));
    }
    if (type.bits() == 32 || rounding.float16_keeps_nan) return cast(type, x);
    Expr converted = reinterpret<uint16_t>(cast(type, x));
    return reinterpret(type, select(is_past_infinity(x), cast<uint16_t>(0x7e00), converted));
}

Expr round_to_bfloat16(const Expr &x) { return reinterpret<float>(upper_half(rounded_bits(x, {}, NaN::any))); }

Expr round_away_to_bfloat16(const Expr &x) { return reinterpret<float>(upper_half(bits_of(x) + literal(0x8000))); }

Expr cut_to_bfloat16(const Expr &x) { return reinterpret<float>(upper_half(bits_of(x))); }

Expr part_of_float(const Expr &x, int which) {
    if (which == 0) return cut_to_bfloat16(x);
    // 16 digits become 8 and 8.
    const Expr rest = strict_subtract(x, cut_to_bfloat16(x)), next = round_away_to_bfloat16(rest);
    return which == 1 ? next : strict_subtract(rest, next);
}

Expr Products::pack(const Term &term) const {
    if (!pairs) return term(0);
    return (bits_of(term(0)) >> 16) | upper_half(bits_of(term(1)));
}

Expr Products::unpack(const Expr &packed, const Expr &which) const {
    if (!pairs) return packed;
    return reinterpret<float>((packed >> (16 * cast<uint32_t>(which))) << 16);
}

Expr Products::number(const Term &packed_part, const Expr &which) const {
    Expr all = unpack(packed_part(parts - 1), which);
    for (int part = parts - 2; part >= 0; part--)
        all += unpack(packed_part(part), which);
    return all;
}

Expr Products::add_parts(const Expr &sum, const Term &a, const Term &b) const {
    if (parts == 1) return add(sum, a(0), b(0));
    // From one to the next one factor stays, so that what multiplies tiles loads only the other. (Of the ways to do so, one by which LLVM
    // copies no tile.)
    using Order = std::vector<std::pair<int, int>>;
    const Order order = parts == 2 ? Order{{1, 1}, {0, 1}, {0, 0}, {1, 0}} : Order{{1, 1}, {0, 1}, {0, 2}, {0, 0}, {1, 0}, {2, 0}};
    Expr all = sum;
    for (const auto &[of_a, of_b] : order)
        all = add(all, a(of_a), b(of_b));
    return all;
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
