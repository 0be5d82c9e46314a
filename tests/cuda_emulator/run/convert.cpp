// Conversions: cvt between all integers and floats, to pairs of 16-bit floats, and to tf32.
#include <limits>

#include "operations.h"

namespace attune::emulator {
namespace {

enum Rounding { nearest, toward_zero, down, up };

template <class T> T round_whole(T value, int rounding) {
    switch (rounding) {
    case nearest:
        return std::nearbyint(value);
    case toward_zero:
        return std::trunc(value);
    case down:
        return std::floor(value);
    default:
        return std::ceil(value);
    }
}

/** The integer nearest to a whole float; out of range the nearest end, for NaN 0. */
template <class D, class S> D clamp_to(S value) {
    if (value != value) return 0;
    if (value < static_cast<S>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    if (value >= static_cast<S>(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
    return static_cast<D>(value);
}

template <class T> constexpr bool is_float =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

/** float from double in another rounding than to nearest. */
float narrow(double value, int rounding) {
    const auto near = static_cast<float>(value);
    const double back = near;
    const bool too_high = back > value, too_low = back < value;
    const bool lower = too_high && (rounding == down || (rounding == toward_zero && value > 0));
    const bool higher = too_low && (rounding == up || (rounding == toward_zero && value < 0));
    return lower ? std::nextafter(near, -INFINITY) : higher ? std::nextafter(near, INFINITY) : near;
}

enum Flags : uint32_t { saturate = 4, flush_zero = 8, relu = 16, whole = 32 }; // and the rounding in the lowest two bits

template <class D, class S> D saturated(S value) {
    const auto wide = static_cast<__int128>(value);
    const __int128 low = std::numeric_limits<D>::min(), high = std::numeric_limits<D>::max();
    return static_cast<D>(wide < low ? low : wide > high ? high : wide);
}

template <class D, class S> void convert_value(const Row<D> &d, uint32_t lane, S value, uint32_t flags) {
    const int rounding = static_cast<int>(flags & 3);
    if constexpr (std::is_floating_point_v<S>) {
        if (flags & flush_zero && sizeof(S) == 4) value = static_cast<S>(flush(static_cast<float>(value)));
        if (flags & whole) value = round_whole(value, rounding);
        if (flags & relu && !(value > 0) && value == value) value = 0;
        if constexpr (is_float<D>) {
            if (flags & saturate) value = value > 0 ? (value < 1 ? value : S(1)) : S(0);
            if constexpr (std::is_same_v<D, float> && std::is_same_v<S, double>) {
                d.set(lane, narrow(value, flags & whole ? nearest : rounding));
            } else {
                d.set(lane, static_cast<std::conditional_t<std::is_same_v<D, float>, float, double>>(value));
            }
        } else {
            d.set(lane, clamp_to<D>(value));
        }
    } else if constexpr (is_float<D>) {
        if constexpr (std::is_same_v<D, float>) {
            d.set(lane, rounding == nearest || sizeof(S) == 8 ? static_cast<float>(value) : narrow(static_cast<double>(value), rounding));
        } else {
            d.set(lane, static_cast<double>(value));
        }
    } else {
        d.set(lane, flags & saturate ? saturated<D>(value) : static_cast<D>(value));
    }
}

template <class D, class S> void convert(Warp &w, const Instruction &x) {
    const Row<D> d(w, x.rows[0]);
    const Row<S> a(w, x.rows[1]);
    const uint32_t flags = x.flags;
    if (flags == 0 && !(is_float<S> && !is_float<D>)) {
        each_lane(w.exec, [=](uint32_t lane) { convert_value<D>(d, lane, a.get(lane), 0); });
    } else {
        each_lane(w.exec, [=](uint32_t lane) { convert_value<D>(d, lane, a.get(lane), flags); });
    }
}

/** Integers keep their sign in a register wider than the type. */
template <class D, class S> void widen(Warp &w, const Instruction &x) {
    const Row<S> a(w, x.rows[1]);
    const bool wide = x.count == 64, saturates = (x.flags & saturate) != 0;
    uint32_t *narrow_row = w.row<uint32_t>(x.rows[0]);
    uint64_t *wide_row = w.row<uint64_t>(x.rows[0]);
    each_lane(w.exec, [=](uint32_t lane) {
        const D value = saturates ? saturated<D>(a.get(lane)) : static_cast<D>(a.get(lane));
        if (wide)
            wide_row[lane] = static_cast<uint64_t>(value);
        else
            narrow_row[lane] = static_cast<uint32_t>(value);
    });
}

template <class F> Handler for_any(Decoder &d, Type type, F f) {
    if (type.is_integer() && type.bits == 8) return type.is_signed() ? f(int8_t()) : f(uint8_t());
    return type.is_integer() ? for_integer(d, type, f) : for_float(d, type, f);
}

template <class D> Handler from(Decoder &d, Type source) {
    return for_any(d, source, [](auto s) -> Handler { return convert<D, decltype(s)>; });
}

template <class T> void convert_pair(Warp &w, const Instruction &x) {
    uint32_t *d = w.row<uint32_t>(x.rows[0]);
    const float *high = w.row<float>(x.rows[1]), *low = w.row<float>(x.rows[2]);
    const bool relu_too = (x.flags & relu) != 0;
    each_lane(w.exec, [=](uint32_t lane) {
        float h = high[lane], l = low[lane];
        if (relu_too) h = h < 0 ? 0 : h, l = l < 0 ? 0 : l;
        const uint32_t top = std::is_same_v<T, Half> ? half_of(h) : brain_of(h),
                       bottom = std::is_same_v<T, Half> ? half_of(l) : brain_of(l);
        d[lane] = top << 16 | bottom;
    });
}

struct TensorFloat {
    // rna: halves go away from zero.
    static uint32_t apply(uint32_t a) { return (a & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : (a + 0x1000) & ~0x1fffu; }
};

uint32_t read_flags(Decoder &d, bool from_float, bool to_float) {
    uint32_t flags = 0;
    const int to_whole = d.one_of({"rni", "rzi", "rmi", "rpi"}), rounding = d.one_of({"rn", "rz", "rm", "rp"});
    if (to_whole >= 0) flags = whole | static_cast<uint32_t>(to_whole);
    if (rounding > 0) flags |= static_cast<uint32_t>(rounding);
    if (from_float && !to_float && to_whole < 0) d.refuse("a rounding to integers is missing");
    if (d.has("sat")) flags |= saturate;
    if (d.has("ftz")) flags |= flush_zero;
    if (d.has("relu")) flags |= relu;
    return flags;
}

void decode_pair(Decoder &d) {
    d.out.flags = read_flags(d, true, true);
    if (d.operands() != 3 || !(d.type(1) == f32) || (d.out.flags & ~relu) != 0) d.refuse();
    d.dest(0, d.type(0));
    d.source(1, f32);
    d.source(2, f32);
    d.out.run = d.type(0).kind == Kind::real_pair ? convert_pair<Half> : convert_pair<Brain>;
}

void decode_convert(Decoder &d) {
    const Type to = d.type(0), from_type = d.type(1);
    if (to.is_pair()) return decode_pair(d);
    if (d.operands() != 2) d.refuse();
    if (to.kind == Kind::tensor_real) {
        if (!d.has("rna")) d.refuse();
        d.dest(0, to);
        d.source(1, from_type);
        d.out.run = unary<uint32_t, TensorFloat>;
        return;
    }
    d.out.flags = read_flags(d, from_type.is_float(), to.is_float());
    const int place = to.is_integer() ? d.declared_bits(d.operand(0)) : to.bits; // of the register
    d.dest(0, place == 64 ? b64 : to);
    d.source(1, from_type);
    const bool two_sixteens = from_type.bits < 32 && to.bits < 32 && from_type.is_float() && to.is_float();
    if ((to.bits < 32 && to.is_float() && (d.out.flags & 3) != 0 && !(d.out.flags & whole)) || (two_sixteens && d.out.flags != 0))
        d.refuse();
    if (to.is_integer() && from_type.is_integer() && place > to.bits) {
        d.out.count = static_cast<uint32_t>(place);
        d.out.run = for_any(d, to, [&](auto t) -> Handler {
            using D = decltype(t);
            return for_any(d, from_type, [](auto s) -> Handler {
                if constexpr (is_float<D> || is_float<decltype(s)>)
                    return nullptr;
                else
                    return widen<D, decltype(s)>;
            });
        });
        return;
    }
    if (place > to.bits && (place == 64 || to.is_signed())) d.refuse("a register has another width than the instruction");
    d.out.run = for_any(d, to, [&](auto t) -> Handler { return from<decltype(t)>(d, from_type); });
}

} // namespace

void add_convert_opcodes(DecodeTable &table) { table["cvt"] = decode_convert; }

} // namespace attune::emulator
