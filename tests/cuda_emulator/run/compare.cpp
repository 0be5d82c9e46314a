// Comparisons and choices: setp set selp slct.
#include "operations.h"

namespace attune::emulator {
namespace {

enum Comparison { equal, not_equal, less, less_equal, greater, greater_equal, number, not_a_number };

/** Comparison C; Unordered: true where an operand is NaN. */
template <int C, bool Unordered> struct Compare {
    template <class T> static bool apply(T a, T b) {
        const bool nan = a != a || b != b;
        if constexpr (C == number) return !nan;
        if constexpr (C == not_a_number) return nan;
        if constexpr (C == not_equal) return Unordered ? a != b : !nan && a != b;
        const bool result = C == equal ? a == b : C == less ? a < b : C == less_equal ? a <= b : C == greater ? a > b : a >= b;
        return Unordered ? result || nan : result;
    }
};

using MaskFunction = uint32_t (*)(Warp &, uint32_t, uint32_t);

template <class T, class Op> uint32_t compare_rows(Warp &w, uint32_t first, uint32_t second) {
    const Row<T> a(w, first), b(w, second);
    uint32_t results[warp_size];
    for (uint32_t lane = 0; lane < warp_size; ++lane)
        results[lane] = static_cast<uint32_t>(Op::apply(a.get(lane), b.get(lane)));
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < warp_size; ++lane)
        mask |= results[lane] << lane;
    return mask;
}

enum class Combination { none, both, either, one };

template <class T, class Op, Combination C> void set_predicates(Warp &w, const Instruction &x) {
    const uint32_t result = compare_rows<T, Op>(w, x.rows[2], x.rows[3]);
    if constexpr (C == Combination::none) {
        blend(w.mask(x.rows[0]), w.exec, result);
        if (x.count > 0) blend(w.mask(x.rows[1]), w.exec, ~result);
    } else {
        const uint32_t c = w.mask(x.rows[4]) ^ (x.flags != 0 ? all_lanes : 0);
        const auto combine = [c](uint32_t r) { return C == Combination::both ? r & c : C == Combination::either ? r | c : r ^ c; };
        blend(w.mask(x.rows[0]), w.exec, combine(result));
        if (x.count > 0) blend(w.mask(x.rows[1]), w.exec, combine(~result));
    }
}

/** set: all ones, or 1.0 in f32. */
template <class T, class Op> void set_words(Warp &w, const Instruction &x) {
    const uint32_t result = compare_rows<T, Op>(w, x.rows[1], x.rows[2]);
    uint32_t *d = w.row<uint32_t>(x.rows[0]);
    each_lane(w.exec, [=](uint32_t lane) { d[lane] = (result >> lane & 1) != 0 ? x.flags : 0; });
}

template <class T, class Op> Handler pick_form(int form) {
    switch (form) {
    case 0:
        return set_predicates<T, Op, Combination::none>;
    case 1:
        return set_predicates<T, Op, Combination::both>;
    case 2:
        return set_predicates<T, Op, Combination::either>;
    case 3:
        return set_predicates<T, Op, Combination::one>;
    default:
        return set_words<T, Op>;
    }
}

template <class T, bool Unordered> Handler pick_comparison(int comparison, int form) {
    switch (comparison) {
    case equal:
        return pick_form<T, Compare<equal, Unordered>>(form);
    case not_equal:
        return pick_form<T, Compare<not_equal, Unordered>>(form);
    case less:
        return pick_form<T, Compare<less, Unordered>>(form);
    case less_equal:
        return pick_form<T, Compare<less_equal, Unordered>>(form);
    case greater:
        return pick_form<T, Compare<greater, Unordered>>(form);
    case greater_equal:
        return pick_form<T, Compare<greater_equal, Unordered>>(form);
    case number:
        return pick_form<T, Compare<number, Unordered>>(form);
    default:
        return pick_form<T, Compare<not_a_number, Unordered>>(form);
    }
}

Handler pick(Decoder &d, Type type, int form) {
    const int ordered = d.one_of({"eq", "ne", "lt", "le", "gt", "ge", "num", "nan"});
    if (type.is_integer()) {
        const int same = ordered >= 0 ? ordered : d.one_of({"", "", "lo", "ls", "hi", "hs"});
        if (same < 0 || same > greater_equal) d.refuse("expected a comparison");
        return for_integer(d, type, [=](auto t) -> Handler { return pick_comparison<decltype(t), false>(same, form); });
    }
    const int unordered = ordered < 0 ? d.one_of({"equ", "neu", "ltu", "leu", "gtu", "geu"}) : -1;
    if (ordered < 0 && unordered < 0) d.refuse("expected a comparison");
    d.ignore({"ftz"});
    return for_float(d, type, [=](auto t) -> Handler {
        using T = decltype(t);
        return ordered >= 0 ? pick_comparison<T, false>(ordered, form) : pick_comparison<T, true>(unordered, form);
    });
}

void decode_set_predicate(Decoder &d) {
    const Type type = d.type();
    d.dest(0, predicate_type);
    d.write_second(d.operand(0));
    d.out.count = d.operand(0).second >= 0 ? 1 : 0;
    d.source(1, type);
    d.source(2, type);
    const int combination = d.one_of({"and", "or", "xor"}) + 1;
    if ((combination > 0) != (d.operands() == 4)) d.refuse();
    if (combination > 0) {
        Operand other = d.operand(3);
        d.out.flags = other.negated ? 1 : 0;
        other.negated = false;
        d.read(other, predicate_type);
    }
    d.out.run = pick(d, type, combination);
}

void decode_set(Decoder &d) {
    const Type result = d.type(0), type = d.type(1);
    if (d.operands() != 3 || result.bits != 32) d.refuse();
    d.dest(0, result);
    d.source(1, type);
    d.source(2, type);
    d.out.flags = result.kind == Kind::real ? 0x3f800000 : ~0u;
    d.out.run = pick(d, type, 4);
}

template <class T> void select(Warp &w, const Instruction &x) {
    T *d = w.row<T>(x.rows[0]);
    const T *a = w.row<T>(x.rows[1]), *b = w.row<T>(x.rows[2]);
    const uint32_t choice = w.mask(x.rows[3]);
    each_lane(w.exec, [=](uint32_t lane) { d[lane] = (choice >> lane & 1) != 0 ? a[lane] : b[lane]; });
}
void decode_select(Decoder &d) {
    const Type type = d.type();
    d.dest(0, type);
    d.source(1, type);
    d.source(2, type);
    d.source(3, predicate_type);
    d.out.run = type.bits == 64 ? select<uint64_t> : select<uint32_t>;
}

template <class T, class C> void select_by_sign(Warp &w, const Instruction &x) {
    T *d = w.row<T>(x.rows[0]);
    const T *a = w.row<T>(x.rows[1]), *b = w.row<T>(x.rows[2]);
    const C *c = w.row<C>(x.rows[3]);
    each_lane(w.exec, [=](uint32_t lane) { d[lane] = c[lane] >= 0 ? a[lane] : b[lane]; });
}
void decode_select_by_sign(Decoder &d) {
    const Type type = d.type(0), sign = d.type(1);
    d.dest(0, type);
    d.source(1, type);
    d.source(2, type);
    d.source(3, sign);
    if (sign.bits != 32) d.refuse();
    if (sign.kind == Kind::real) {
        d.ignore({"ftz"});
        d.out.run = type.bits == 64 ? select_by_sign<uint64_t, float> : select_by_sign<uint32_t, float>;
    } else {
        d.out.run = type.bits == 64 ? select_by_sign<uint64_t, int32_t> : select_by_sign<uint32_t, int32_t>;
    }
}

} // namespace

void add_compare_opcodes(DecodeTable &table) {
    table["setp"] = decode_set_predicate;
    table["set"] = decode_set;
    table["selp"] = decode_select;
    table["slct"] = decode_select_by_sign;
}

} // namespace attune::emulator
