// Bits: and or xor not cnot shl shr shf bfe bfi bfind popc clz brev prmt lop3 dp4a.
#include "operations.h"

namespace attune::emulator {
namespace {

struct And {
    template <class T> static T apply(T a, T b) { return a & b; }
};
struct Or {
    template <class T> static T apply(T a, T b) { return a | b; }
};
struct Xor {
    template <class T> static T apply(T a, T b) { return a ^ b; }
};
struct Not {
    template <class T> static T apply(T a) { return static_cast<T>(~a); }
};
struct LogicalNot {
    template <class T> static T apply(T a) { return a == 0; }
};
struct PopulationCount {
    template <class T> static uint32_t apply(T a) { return static_cast<uint32_t>(__builtin_popcountll(a)); }
};
struct LeadingZeros {
    static uint32_t apply(uint32_t a) { return a == 0 ? 32 : static_cast<uint32_t>(__builtin_clz(a)); }
    static uint32_t apply(uint64_t a) { return a == 0 ? 64 : static_cast<uint32_t>(__builtin_clzll(a)); }
};
struct Reverse {
    static uint32_t apply(uint32_t a) {
        a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
        a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
        a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
        return __builtin_bswap32(a);
    }
    static uint64_t apply(uint64_t a) {
        return static_cast<uint64_t>(apply(static_cast<uint32_t>(a))) << 32 | apply(static_cast<uint32_t>(a >> 32));
    }
};

template <class Op> void predicate_binary(Warp &w, const Instruction &x) {
    blend(w.mask(x.rows[0]), w.exec, Op::apply(w.mask(x.rows[1]), w.mask(x.rows[2])));
}
void predicate_not(Warp &w, const Instruction &x) { blend(w.mask(x.rows[0]), w.exec, ~w.mask(x.rows[1])); }

template <class Op> void decode_logic(Decoder &d) {
    const Type type = d.type();
    take_operands(d, type, 3);
    d.out.run = type.bits == 1 ? predicate_binary<Op> : type.bits == 64 ? binary<uint64_t, Op> : binary<uint32_t, Op>;
}

void decode_not(Decoder &d) {
    const Type type = d.type();
    take_operands(d, type, 2);
    d.out.run = type.bits == 1    ? predicate_not
                : type.bits == 64 ? unary<uint64_t, Not>
                : type.bits == 16 ? unary<uint16_t, Not>
                                  : unary<uint32_t, Not>;
}

// Shifts by the width or more give zeros, or copies of the sign.
template <class T> void shift_left(Warp &w, const Instruction &x) {
    const Row<T> d(w, x.rows[0]), a(w, x.rows[1]);
    const Row<uint32_t> b(w, x.rows[2]);
    constexpr uint32_t width = sizeof(T) * 8;
    each_lane(w.exec, [=](uint32_t lane) {
        const uint32_t count = b.get(lane);
        d.set(lane, count < width ? static_cast<T>(a.get(lane) << (count % width)) : T(0));
    });
}
template <class T> void shift_right(Warp &w, const Instruction &x) {
    const Row<T> d(w, x.rows[0]), a(w, x.rows[1]);
    const Row<uint32_t> b(w, x.rows[2]);
    constexpr uint32_t width = sizeof(T) * 8;
    each_lane(w.exec, [=](uint32_t lane) {
        const uint32_t count = b.get(lane);
        const T past = a.get(lane) < 0 ? static_cast<T>(~T(0)) : T(0);
        d.set(lane, count < width ? static_cast<T>(a.get(lane) >> (count % width)) : past);
    });
}

void take_shift(Decoder &d) {
    if (d.operands() != 3) d.refuse();
    d.dest(0, d.type());
    d.source(1, d.type());
    d.source(2, u32);
}
void decode_shift_left(Decoder &d) {
    take_shift(d);
    const int bits = d.type().bits;
    d.out.run = bits == 16 ? shift_left<uint16_t> : bits == 32 ? shift_left<uint32_t> : shift_left<uint64_t>;
}
void decode_shift_right(Decoder &d) {
    take_shift(d);
    d.out.run = for_integer(d, d.type(), [](auto t) -> Handler { return shift_right<decltype(t)>; });
}

template <bool Left, bool Wraps> struct Funnel {
    static uint32_t apply(uint32_t low, uint32_t high, uint32_t by) {
        const uint32_t count = Wraps ? by & 31 : by > 32 ? 32 : by;
        const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
        return static_cast<uint32_t>(Left ? both << count >> 32 : both >> count);
    }
};
void decode_funnel(Decoder &d) {
    const bool left = d.one_of({"l", "r"}) == 0, wraps = d.one_of({"wrap", "clamp"}) == 0;
    take_operands(d, d.type(), 4);
    d.out.run = left ? (wraps ? ternary<uint32_t, Funnel<true, true>> : ternary<uint32_t, Funnel<true, false>>)
                     : (wraps ? ternary<uint32_t, Funnel<false, true>> : ternary<uint32_t, Funnel<false, false>>);
}

template <class T> T extract_field(T value, uint32_t position, uint32_t length) {
    constexpr uint32_t width = sizeof(T) * 8;
    position &= 255, length &= 255;
    if (length == 0) return 0;
    const uint32_t last = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    using U = std::make_unsigned_t<T>;
    U result = position < width ? static_cast<U>(value) >> position : 0;
    if (length < width) result &= (U(1) << length) - 1;
    if (std::is_signed_v<T> && (static_cast<U>(value) >> last & 1) != 0) {
        const uint32_t copied = position < width ? last - position + 1 : 0;
        if (copied < width) result |= ~U(0) << copied;
    }
    return static_cast<T>(result);
}
template <class T> void extract(Warp &w, const Instruction &x) {
    const Row<T> d(w, x.rows[0]), a(w, x.rows[1]);
    const Row<uint32_t> b(w, x.rows[2]), c(w, x.rows[3]);
    each_lane(w.exec, [=](uint32_t lane) { d.set(lane, extract_field(a.get(lane), b.get(lane), c.get(lane))); });
}
void decode_extract(Decoder &d) {
    d.dest(0, d.type());
    d.source(1, d.type());
    d.source(2, u32);
    d.source(3, u32);
    const bool wide = d.type().bits == 64;
    d.out.run = d.type().is_signed() ? (wide ? extract<int64_t> : extract<int32_t>) : (wide ? extract<uint64_t> : extract<uint32_t>);
}

template <class T> void insert(Warp &w, const Instruction &x) {
    const Row<T> d(w, x.rows[0]), a(w, x.rows[1]), b(w, x.rows[2]);
    const Row<uint32_t> from(w, x.rows[3]), count(w, x.rows[4]);
    constexpr uint32_t width = sizeof(T) * 8;
    each_lane(w.exec, [=](uint32_t lane) {
        const uint32_t position = from.get(lane) & 255, length = count.get(lane) & 255;
        const T field = length >= width ? ~T(0) : static_cast<T>((T(1) << length % width) - 1);
        const T mask = position < width ? static_cast<T>(field << position % width) : 0;
        d.set(lane, (b.get(lane) & ~mask) | (static_cast<T>(a.get(lane) << position % width) & mask));
    });
}
void decode_insert(Decoder &d) {
    d.dest(0, d.type());
    d.source(1, d.type());
    d.source(2, d.type());
    d.source(3, u32);
    d.source(4, u32);
    d.out.run = d.type().bits == 64 ? insert<uint64_t> : insert<uint32_t>;
}

template <class T, class Op> void count_bits(Warp &w, const Instruction &x) {
    const Row<uint32_t> d(w, x.rows[0]);
    const Row<T> a(w, x.rows[1]);
    each_lane(w.exec, [=](uint32_t lane) { d.set(lane, Op::apply(a.get(lane))); });
}
template <class Op> void decode_count(Decoder &d) {
    d.dest(0, u32);
    d.source(1, d.type());
    d.out.run = d.type().bits == 64 ? count_bits<uint64_t, Op> : count_bits<uint32_t, Op>;
}

template <bool Shifts> struct FindBit {
    template <class T> static uint32_t apply(T a) {
        using U = std::make_unsigned_t<T>;
        const U bits = static_cast<U>(a < 0 ? ~a : a);
        if (bits == 0) return ~0u;
        const uint32_t zeros = LeadingZeros::apply(bits);
        return Shifts ? zeros : sizeof(T) * 8 - 1 - zeros;
    }
};
void decode_find(Decoder &d) {
    d.dest(0, u32);
    d.source(1, d.type());
    const bool wide = d.type().bits == 64;
    if (d.has("shiftamt")) {
        using Op = FindBit<true>;
        d.out.run = d.type().is_signed() ? (wide ? count_bits<int64_t, Op> : count_bits<int32_t, Op>)
                                         : (wide ? count_bits<uint64_t, Op> : count_bits<uint32_t, Op>);
    } else {
        using Op = FindBit<false>;
        d.out.run = d.type().is_signed() ? (wide ? count_bits<int64_t, Op> : count_bits<int32_t, Op>)
                                         : (wide ? count_bits<uint64_t, Op> : count_bits<uint32_t, Op>);
    }
}

struct Permute {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t selector) {
        const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
        uint32_t result = 0;
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t pick = selector >> 4 * i & 15;
            const auto byte = static_cast<uint32_t>(both >> 8 * (pick & 7) & 255);
            result |= ((pick & 8) != 0 ? (byte >> 7) * 255 : byte) << 8 * i;
        }
        return result;
    }
};
void decode_permute(Decoder &d) {
    take_operands(d, d.type(), 4);
    d.out.run = ternary<uint32_t, Permute>;
}

void lookup(Warp &w, const Instruction &x) {
    const Row<uint32_t> d(w, x.rows[0]), a(w, x.rows[1]), b(w, x.rows[2]), c(w, x.rows[3]);
    const auto table = static_cast<uint32_t>(x.immediate);
    each_lane(w.exec, [=](uint32_t lane) {
        const uint32_t p = a.get(lane), q = b.get(lane), r = c.get(lane);
        uint32_t result = 0;
        for (uint32_t i = 0; i < 8; ++i) {
            const uint32_t chosen = ((i & 4) != 0 ? p : ~p) & ((i & 2) != 0 ? q : ~q) & ((i & 1) != 0 ? r : ~r);
            result |= chosen & (0 - (table >> i & 1));
        }
        d.set(lane, result);
    });
}
void decode_lookup(Decoder &d) {
    d.dest(0, d.type());
    for (size_t i = 1; i < 4; ++i)
        d.source(i, d.type());
    d.out.immediate = static_cast<int64_t>(d.immediate(4));
    d.out.run = lookup;
}

} // namespace

void add_bit_opcodes(DecodeTable &table) {
    table["and"] = decode_logic<And>;
    table["or"] = decode_logic<Or>;
    table["xor"] = decode_logic<Xor>;
    table["not"] = decode_not;
    table["cnot"] = [](Decoder &d) {
        take_operands(d, d.type(), 2);
        d.out.run = d.type().bits == 64 ? unary<uint64_t, LogicalNot> : unary<uint32_t, LogicalNot>;
    };
    table["shl"] = decode_shift_left;
    table["shr"] = decode_shift_right;
    table["shf"] = decode_funnel;
    table["bfe"] = decode_extract;
    table["bfi"] = decode_insert;
    table["bfind"] = decode_find;
    table["popc"] = decode_count<PopulationCount>;
    table["clz"] = decode_count<LeadingZeros>;
    table["brev"] = [](Decoder &d) {
        take_operands(d, d.type(), 2);
        d.out.run = d.type().bits == 64 ? unary<uint64_t, Reverse> : unary<uint32_t, Reverse>;
    };
    table["prmt"] = decode_permute;
    table["lop3"] = decode_lookup;
}

} // namespace attune::emulator
