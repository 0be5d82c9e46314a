// Floating-point arithmetic: add sub mul fma mad div min max neg abs, of f16, bf16, f32, f64 and pairs, and the choice between it and
// integer arithmetic.
#include "arithmetic.h"

namespace attune::emulator {
namespace {

// Sums and products of 16-bit floats are exact in double or so close that rounding them once is right.
struct FusedMultiplyAdd {
    static float apply(float a, float b, float c) { return std::fma(a, b, c); }
    static double apply(double a, double b, double c) { return std::fma(a, b, c); }
};
struct WideMultiplyAdd {
    static double apply(float a, float b, float c) { return double(a) * b + c; }
};
struct WideMultiplyAddRelu {
    static double apply(float a, float b, float c) {
        const double sum = double(a) * b + c;
        return sum > 0 || std::isnan(sum) ? sum : 0;
    }
};
struct WideAdd {
    static double apply(float a, float b) { return double(a) + b; }
};
struct WideSubtract {
    static double apply(float a, float b) { return double(a) - b; }
};
struct WideMultiply {
    static double apply(float a, float b) { return double(a) * b; }
};
struct Quotient {
    template <class T> static T apply(T a, T b) { return a / b; }
};
// The number wins over NaN; -0 is below +0.
struct NumberMinimum {
    template <class T> static T apply(T a, T b) {
        return std::isnan(a) ? b : std::isnan(b) ? a : a < b || (a == b && std::signbit(a)) ? a : b;
    }
};
struct NumberMaximum {
    template <class T> static T apply(T a, T b) {
        return std::isnan(a) ? b : std::isnan(b) ? a : a > b || (a == b && !std::signbit(a)) ? a : b;
    }
};
struct NanMinimum {
    template <class T> static T apply(T a, T b) {
        return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : a < b || (a == b && std::signbit(a)) ? a : b;
    }
};
struct NanMaximum {
    template <class T> static T apply(T a, T b) {
        return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : a > b || (a == b && !std::signbit(a)) ? a : b;
    }
};
struct FloatAbsolute {
    template <class T> static T apply(T a) { return std::fabs(a); }
};

template <class Op, int Sources> Handler flat(bool flushes, bool saturates) {
    const auto pick = [](auto op) -> Handler {
        if constexpr (Sources == 1) return unary<float, decltype(op)>;
        if constexpr (Sources == 2) return binary<float, decltype(op)>;
        if constexpr (Sources == 3) return ternary<float, decltype(op)>;
    };
    if (saturates) return flushes ? pick(Finish<Op, true, true>()) : pick(Finish<Op, false, true>());
    return flushes ? pick(Finish<Op, true, false>()) : pick(Finish<Op, false, false>());
}

template <class Op, int Sources, class T> Handler scalar() {
    if constexpr (Sources == 1) return unary<T, Op>;
    if constexpr (Sources == 2) return binary<T, Op>;
    if constexpr (Sources == 3) return ternary<T, Op>;
}

/** Op on f32 and f64; Narrow on 16-bit floats and their pairs. f16 flushes nothing here: .ftz is refused for it. */
template <class Op, class Narrow, int Sources> void decode_float(Decoder &d) {
    const Type type = d.type();
    take_operands(d, type, Sources + 1);
    if (type.bits == 64) {
        d.out.run = scalar<Op, Sources, double>();
    } else if (type == f32) {
        const bool flushes = d.has("ftz");
        d.out.run = flat<Op, Sources>(flushes, d.has("sat"));
    } else if (type.is_pair()) {
        d.out.run = type.kind == Kind::real_pair ? pairwise<Half, Sources, Narrow> : pairwise<Brain, Sources, Narrow>;
    } else {
        d.out.run = type.kind == Kind::real ? scalar<Narrow, Sources, Half>() : scalar<Narrow, Sources, Brain>();
    }
}

void decode_add(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_add(d);
    d.has("rn");
    decode_float<Add, WideAdd, 2>(d);
}
void decode_subtract(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_subtract(d);
    d.has("rn");
    decode_float<Subtract, WideSubtract, 2>(d);
}
void decode_multiply(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_multiply(d);
    d.has("rn");
    decode_float<Multiply, WideMultiply, 2>(d);
}
void decode_fused(Decoder &d) {
    d.has("rn");
    if (d.type().bits < 32 || d.type().is_pair()) {
        if (d.has("relu")) return decode_float<FusedMultiplyAdd, WideMultiplyAddRelu, 3>(d);
    }
    decode_float<FusedMultiplyAdd, WideMultiplyAdd, 3>(d);
}
void decode_multiply_add(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_multiply_add(d);
    decode_fused(d);
}
void decode_divide(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_divide(d);
    if (d.type().bits < 32) d.refuse();
    d.ignore({"rn", "full", "approx"});
    decode_float<Quotient, Quotient, 2>(d);
}
void decode_minimum(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_minimum(d);
    if (d.has("NaN")) return decode_float<NanMinimum, NanMinimum, 2>(d);
    decode_float<NumberMinimum, NumberMinimum, 2>(d);
}
void decode_maximum(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_maximum(d);
    if (d.has("NaN")) return decode_float<NanMaximum, NanMaximum, 2>(d);
    decode_float<NumberMaximum, NumberMaximum, 2>(d);
}
void decode_negate(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_negate(d);
    decode_float<Negate, Negate, 1>(d);
}
void decode_absolute(Decoder &d) {
    if (d.type().is_integer()) return decode_integer_absolute(d);
    decode_float<FloatAbsolute, FloatAbsolute, 1>(d);
}

} // namespace

void add_arithmetic_opcodes(DecodeTable &table) {
    table["add"] = decode_add;
    table["sub"] = decode_subtract;
    table["mul"] = decode_multiply;
    table["mad"] = decode_multiply_add;
    table["fma"] = decode_fused;
    table["div"] = decode_divide;
    table["min"] = decode_minimum;
    table["max"] = decode_maximum;
    table["neg"] = decode_negate;
    table["abs"] = decode_absolute;
}

} // namespace attune::emulator
