// Integer arithmetic: add sub mul mad mul24 mad24 div rem min max neg abs sad, and the forms with a carry.
#include <algorithm>

#include "arithmetic.h"

namespace attune::emulator {
namespace {

struct Divide {
    // A division by zero gives all ones on the device; INT_MIN / -1 stays.
    template <class T> static T apply(T a, T b) {
        if (b == 0) return static_cast<T>(~T(0));
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(T(0) - a);
        return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <class T> static T apply(T a, T b) {
        if (b == 0) return a;
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
        return static_cast<T>(a % b);
    }
};
struct MultiplyHigh {
    template <class T> static T apply(T a, T b) {
        if constexpr (sizeof(T) == 8) {
            using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
            return static_cast<T>(static_cast<Wide>(a) * b >> 64);
        } else {
            using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
            return static_cast<T>(static_cast<Wide>(a) * b >> (sizeof(T) * 8));
        }
    }
};
struct MultiplyAdd {
    template <class T> static T apply(T a, T b, T c) { return static_cast<T>(a * b + c); }
};
struct MultiplyHighAdd {
    template <class T> static T apply(T a, T b, T c) { return static_cast<T>(MultiplyHigh::apply(a, b) + c); }
};
template <class T> T low24(T a) { return std::is_signed_v<T> ? static_cast<T>(static_cast<uint32_t>(a) << 8) >> 8 : a & 0xffffff; }
struct Multiply24 {
    template <class T> static T apply(T a, T b) { return low24(a) * low24(b); }
};
struct Multiply24Add {
    template <class T> static T apply(T a, T b, T c) { return low24(a) * low24(b) + c; }
};
struct AbsoluteDifferenceAdd {
    template <class T> static T apply(T a, T b, T c) { return static_cast<T>(c + (a < b ? b - a : a - b)); }
};
struct SaturatedAdd {
    static int32_t apply(int32_t a, int32_t b) { return static_cast<int32_t>(std::clamp<int64_t>(int64_t(a) + b, INT32_MIN, INT32_MAX)); }
};
struct SaturatedSubtract {
    static int32_t apply(int32_t a, int32_t b) { return static_cast<int32_t>(std::clamp<int64_t>(int64_t(a) - b, INT32_MIN, INT32_MAX)); }
};

/** mul.wide and mad.wide: T times T in D, twice as wide. */
template <class D, class T, bool Adds> void multiply_wide(Warp &w, const Instruction &x) {
    const Row<D> d(w, x.rows[0]), c(w, x.rows[Adds ? 3 : 0]);
    const Row<T> a(w, x.rows[1]), b(w, x.rows[2]);
    each_lane(w.exec, [=](uint32_t lane) {
        const D product = static_cast<D>(static_cast<D>(a.get(lane)) * static_cast<D>(b.get(lane)));
        d.set(lane, static_cast<D>(product + (Adds ? c.get(lane) : 0)));
    });
}

void decode_wide(Decoder &d, bool adds) {
    const Type narrow = d.type(), wide{narrow.kind, narrow.bits * 2};
    if (narrow.bits == 64) d.refuse();
    d.dest(0, wide);
    d.source(1, narrow);
    d.source(2, narrow);
    if (adds) d.source(3, wide);
    if (narrow.bits == 16) {
        d.out.run = narrow.is_signed() ? (adds ? multiply_wide<int32_t, int16_t, true> : multiply_wide<int32_t, int16_t, false>)
                                       : (adds ? multiply_wide<uint32_t, uint16_t, true> : multiply_wide<uint32_t, uint16_t, false>);
    } else {
        d.out.run = narrow.is_signed() ? (adds ? multiply_wide<int64_t, int32_t, true> : multiply_wide<int64_t, int32_t, false>)
                                       : (adds ? multiply_wide<uint64_t, uint32_t, true> : multiply_wide<uint64_t, uint32_t, false>);
    }
}

template <class Op> void decode_binary(Decoder &d) {
    take_operands(d, d.type(), 3);
    d.out.run = for_integer(d, d.type(), [](auto t) -> Handler { return binary<decltype(t), Op>; });
}
template <class Op> void decode_ternary(Decoder &d) {
    take_operands(d, d.type(), 4);
    d.out.run = for_integer(d, d.type(), [](auto t) -> Handler { return ternary<decltype(t), Op>; });
}
template <class Op> void decode_unary(Decoder &d) {
    take_operands(d, d.type(), 2);
    d.out.run = for_integer(d, d.type(), [](auto t) -> Handler { return unary<decltype(t), Op>; });
}

template <bool Subtracts> void add_with_carry(Warp &w, const Instruction &x) {
    const Row<uint32_t> d(w, x.rows[0]), a(w, x.rows[1]), b(w, x.rows[2]);
    const bool uses = (x.flags & 1) != 0, sets = (x.flags & 2) != 0;
    for (uint32_t rest = w.exec; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint64_t carry = uses ? w.carry >> lane & 1 : 0;
        const uint64_t sum = Subtracts ? uint64_t(a.get(lane)) - b.get(lane) - carry : uint64_t(a.get(lane)) + b.get(lane) + carry;
        d.set(lane, static_cast<uint32_t>(sum));
        if (sets) blend(w.carry, 1u << lane, (sum >> 32 & 1) != 0 ? all_lanes : 0);
    }
}

/** add.cc, addc, sub.cc, subc. */
template <bool Subtracts> void decode_carry(Decoder &d, bool uses) {
    const Type type = d.type();
    if (type.bits != 32) d.refuse("carries are known for 32 bits only");
    take_operands(d, type, 3);
    d.out.flags = (uses ? 1 : 0) | (d.has("cc") ? 2 : 0);
    d.out.run = add_with_carry<Subtracts>;
}

} // namespace

void decode_integer_add(Decoder &d) {
    if (d.has("cc")) return decode_carry<false>(d, false);
    if (!d.has("sat")) return decode_binary<Add>(d);
    take_operands(d, {Kind::signed_integer, 32}, 3);
    if (!(d.type() == Type{Kind::signed_integer, 32})) d.refuse();
    d.out.run = binary<int32_t, SaturatedAdd>;
}
void decode_integer_subtract(Decoder &d) {
    if (d.has("cc")) return decode_carry<true>(d, false);
    if (!d.has("sat")) return decode_binary<Subtract>(d);
    take_operands(d, {Kind::signed_integer, 32}, 3);
    if (!(d.type() == Type{Kind::signed_integer, 32})) d.refuse();
    d.out.run = binary<int32_t, SaturatedSubtract>;
}
void decode_integer_multiply(Decoder &d) {
    if (d.has("wide")) return decode_wide(d, false);
    if (d.has("hi")) return decode_binary<MultiplyHigh>(d);
    if (!d.has("lo")) d.refuse("one of .lo, .hi and .wide is missing");
    decode_binary<Multiply>(d);
}
void decode_integer_multiply_add(Decoder &d) {
    if (d.has("wide")) return decode_wide(d, true);
    if (d.has("hi")) return decode_ternary<MultiplyHighAdd>(d);
    if (!d.has("lo")) d.refuse("one of .lo, .hi and .wide is missing");
    decode_ternary<MultiplyAdd>(d);
}
void decode_integer_divide(Decoder &d) { decode_binary<Divide>(d); }
void decode_integer_minimum(Decoder &d) { decode_binary<Minimum>(d); }
void decode_integer_maximum(Decoder &d) { decode_binary<Maximum>(d); }
void decode_integer_negate(Decoder &d) { decode_unary<Negate>(d); }
void decode_integer_absolute(Decoder &d) { decode_unary<Absolute>(d); }

void add_integer_opcodes(DecodeTable &table) {
    table["rem"] = decode_binary<Remainder>;
    table["sad"] = decode_ternary<AbsoluteDifferenceAdd>;
    table["addc"] = [](Decoder &d) { decode_carry<false>(d, true); };
    table["subc"] = [](Decoder &d) { decode_carry<true>(d, true); };
    table["mul24"] = [](Decoder &d) {
        if (!d.has("lo") || d.type().bits != 32) d.refuse();
        take_operands(d, d.type(), 3);
        d.out.run = d.type().is_signed() ? binary<int32_t, Multiply24> : binary<uint32_t, Multiply24>;
    };
    table["mad24"] = [](Decoder &d) {
        if (!d.has("lo") || d.type().bits != 32) d.refuse();
        take_operands(d, d.type(), 4);
        d.out.run = d.type().is_signed() ? ternary<int32_t, Multiply24Add> : ternary<uint32_t, Multiply24Add>;
    };
}

} // namespace attune::emulator
