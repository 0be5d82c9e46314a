// Functions of floating-point numbers: rcp sqrt rsqrt ex2 lg2 sin cos tanh copysign testp. Approximate ones are as near as float allows, or
// within the error that PTX grants.
#include "operations.h"

namespace attune::emulator {
namespace {

/** 2^x in float, two units in the last place off at most, in a form that compilers vectorise. */
struct Exponential {
    static float apply(float x) {
        const float clamped = x < -160.f ? -160.f : x > 160.f ? 160.f : x;
        const float whole = (clamped + 12582912.f) - 12582912.f; // 1.5 * 2^23: rounds to an integer
        const float f = clamped - whole;
        float p = 1.5403530e-4f;
        p = p * f + 1.3333558e-3f;
        p = p * f + 9.6181291e-3f;
        p = p * f + 5.5504109e-2f;
        p = p * f + 2.4022651e-1f;
        p = p * f + 6.9314718e-1f;
        p = p * f + 1.f;
        const auto n = static_cast<int32_t>(whole);
        const int32_t half = n >> 1; // two factors, as 2^n may be no normal number
        const float result = p * bits_as<float>((half + 127) << 23) * bits_as<float>((n - half + 127) << 23);
        return x == x ? result : x;
    }
};
struct Logarithm {
    static float apply(float a) { return std::log2(a); }
};
struct Reciprocal {
    template <class T> static T apply(T a) { return 1 / a; }
};
struct SquareRoot {
    template <class T> static T apply(T a) { return std::sqrt(a); }
};
struct ReciprocalSquareRoot {
    template <class T> static T apply(T a) { return static_cast<T>(1 / std::sqrt(static_cast<double>(a))); }
};
struct Sine {
    static float apply(float a) { return std::sin(a); }
};
struct Cosine {
    static float apply(float a) { return std::cos(a); }
};
struct HyperbolicTangent {
    static float apply(float a) { return std::tanh(a); }
};
// Of sign and magnitude, in this order: the operands of PTX.
struct CopySign {
    template <class T> static T apply(T sign, T magnitude) { return std::copysign(magnitude, sign); }
};

template <class Op, class T> Handler finished(bool flushes) {
    return flushes ? unary<T, Finish<Op, true, false>> : unary<T, Finish<Op, false, false>>;
}

/** Of f32 alone. */
template <class Op> void decode_single(Decoder &d) {
    d.ignore({"approx"});
    const Type type = d.type();
    take_operands(d, type, 2);
    if (type == f32) {
        d.out.run = finished<Op, float>(d.has("ftz"));
    } else if (type.is_pair()) {
        d.ignore({"ftz"});
        d.out.run = type.kind == Kind::real_pair ? pairwise<Half, 1, Op> : pairwise<Brain, 1, Op>;
    } else if (type.bits == 16) {
        d.ignore({"ftz"});
        d.out.run = type.kind == Kind::real ? unary<Half, Op> : unary<Brain, Op>;
    } else {
        d.refuse();
    }
}

/** Of f32 and f64. */
template <class Op> void decode_double(Decoder &d) {
    d.ignore({"approx", "rn"});
    const bool flushes = d.has("ftz");
    take_operands(d, d.type(), 2);
    if (d.type().bits == 64) {
        d.out.run = finished<Op, double>(flushes);
    } else if (d.type() == f32) {
        d.out.run = finished<Op, float>(flushes);
    } else {
        d.refuse();
    }
}

template <class T> bool has_property(T value, uint32_t property) {
    switch (property) {
    case 0:
        return std::isfinite(value);
    case 1:
        return std::isinf(value);
    case 2:
        return !std::isnan(value);
    case 3:
        return std::isnan(value);
    case 4:
        return std::isnormal(value);
    default:
        return std::fpclassify(value) == FP_SUBNORMAL;
    }
}
template <class T> void test_property(Warp &w, const Instruction &x) {
    uint32_t result = 0;
    const T *a = w.row<T>(x.rows[1]);
    for (uint32_t lane = 0; lane < warp_size; ++lane)
        result |= static_cast<uint32_t>(has_property(a[lane], x.flags)) << lane;
    blend(w.mask(x.rows[0]), w.exec, result);
}
void decode_test(Decoder &d) {
    const int property = d.one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
    if (property < 0) d.refuse();
    d.out.flags = static_cast<uint32_t>(property);
    d.dest(0, predicate_type);
    d.source(1, d.type());
    d.out.run = d.type().bits == 64 ? test_property<double> : test_property<float>;
}

} // namespace

void add_float_opcodes(DecodeTable &table) {
    table["ex2"] = decode_single<Exponential>;
    table["tanh"] = decode_single<HyperbolicTangent>;
    table["lg2"] = decode_single<Logarithm>;
    table["sin"] = decode_single<Sine>;
    table["cos"] = decode_single<Cosine>;
    table["rcp"] = decode_double<Reciprocal>;
    table["sqrt"] = decode_double<SquareRoot>;
    table["rsqrt"] = decode_double<ReciprocalSquareRoot>;
    table["testp"] = decode_test;
    table["copysign"] = [](Decoder &d) {
        take_operands(d, d.type(), 3);
        d.out.run = d.type().bits == 64 ? binary<double, CopySign> : binary<float, CopySign>;
    };
}

} // namespace attune::emulator
