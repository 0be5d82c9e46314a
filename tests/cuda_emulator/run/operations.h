// Finding the handler for a type, and what results of floating-point instructions go through.
#pragma once

#include <type_traits>

#include "decoder.h"

namespace attune::emulator {

inline float flush(float value) { return std::fabs(value) < 1.17549435e-38f ? std::copysign(0.f, value) : value; }

/** Calls f with a value of the C++ type that a PTX type of integers stands for; bits count as unsigned. */
template <class F> Handler for_integer(Decoder &d, Type type, F f) {
    if (!type.is_integer()) d.refuse("expected a type of integers");
    switch (type.bits) {
    case 16:
        return type.is_signed() ? f(int16_t()) : f(uint16_t());
    case 32:
        return type.is_signed() ? f(int32_t()) : f(uint32_t());
    case 64:
        return type.is_signed() ? f(int64_t()) : f(uint64_t());
    default:
        d.refuse("expected 16, 32 or 64 bits");
    }
}

/** The same for a scalar type of floating point: float, double, Half or Brain. */
template <class F> Handler for_float(Decoder &d, Type type, F f) {
    if (type.kind == Kind::brain) return f(Brain());
    if (type.kind != Kind::real) d.refuse("expected a type of floating point");
    return type.bits == 16 ? f(Half()) : type.bits == 32 ? f(float()) : f(double());
}

/** Op on both halves of the words of a pair. */
template <class T, int Sources, class Op> void pairwise(Warp &w, const Instruction &x) {
    const uint32_t *a = w.row<uint32_t>(x.rows[1]), *b = w.row<uint32_t>(x.rows[Sources > 1 ? 2 : 1]),
                   *c = w.row<uint32_t>(x.rows[Sources > 2 ? 3 : 1]);
    uint32_t *d = w.row<uint32_t>(x.rows[0]);
    const auto widen = [](uint32_t bits) {
        return std::is_same_v<T, Half> ? float_of_half(static_cast<uint16_t>(bits)) : float_of_brain(static_cast<uint16_t>(bits));
    };
    const auto half = [=](uint32_t lane, int shift) -> uint32_t {
        const float p = widen(a[lane] >> shift), q = widen(b[lane] >> shift), r = widen(c[lane] >> shift);
        double result;
        if constexpr (Sources == 1) result = Op::apply(p);
        if constexpr (Sources == 2) result = Op::apply(p, q);
        if constexpr (Sources == 3) result = Op::apply(p, q, r);
        (void)q, (void)r;
        return static_cast<uint32_t>(std::is_same_v<T, Half> ? half_of(result) : brain_of(result)) << shift;
    };
    each_lane(w.exec, [=](uint32_t lane) {
        const uint32_t low = half(lane, 0);
        d[lane] = low | half(lane, 16);
    });
}

/** Flushes subnormals of operands and result, and clamps the result to 0..1. */
template <class Op, bool Flush, bool Saturate> struct Finish {
    template <class... V> static auto apply(V... values) {
        auto result = Op::apply(flushed(values)...);
        if constexpr (Saturate) result = result > 0 ? (result < 1 ? result : 1) : 0; // NaN becomes 0
        return flushed(result);
    }
    template <class V> static V flushed(V value) {
        if constexpr (Flush && std::is_same_v<V, float>) value = flush(value);
        return value;
    }
};

/** Appends d, a, b ... of one type. */
inline void take_operands(Decoder &d, Type type, size_t count) {
    if (d.operands() != count) d.refuse("the number of operands is not " + std::to_string(count));
    d.dest(0, type);
    for (size_t i = 1; i < count; ++i)
        d.source(i, type);
}

} // namespace attune::emulator
