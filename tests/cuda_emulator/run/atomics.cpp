// atom and red, on global and shared memory. Blocks run at once, so they are atomic for the host too.
#include <algorithm>

#include "block.h"
#include "operations.h"

namespace attune::emulator {
namespace {

// Op(old, b, c): what the memory holds next.
struct Exchange {
    template <class T> static T apply(T, T b, T) { return b; }
};
struct CompareSwap {
    template <class T> static T apply(T old, T b, T c) { return old == b ? c : old; }
};
struct AtomicAdd {
    template <class T> static T apply(T old, T b, T) { return static_cast<T>(old + b); }
};
struct AtomicMinimum {
    template <class T> static T apply(T old, T b, T) { return std::min(old, b); }
};
struct AtomicMaximum {
    template <class T> static T apply(T old, T b, T) { return std::max(old, b); }
};
struct AtomicAnd {
    template <class T> static T apply(T old, T b, T) { return old & b; }
};
struct AtomicOr {
    template <class T> static T apply(T old, T b, T) { return old | b; }
};
struct AtomicXor {
    template <class T> static T apply(T old, T b, T) { return old ^ b; }
};
struct Increment {
    template <class T> static T apply(T old, T b, T) { return old >= b ? 0 : old + 1; }
};
struct Decrement {
    template <class T> static T apply(T old, T b, T) { return old == 0 || old > b ? b : old - 1; }
};

template <class T, class Op> T update(uint8_t *at, T b, T c) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    auto *memory = reinterpret_cast<Bits *>(at);
    Bits old = __atomic_load_n(memory, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(memory, &old, bits_as<Bits>(Op::apply(bits_as<T>(old), b, c)), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
    }
    return bits_as<T>(old);
}

/** Rows: address, destination, b, c. */
template <class T, class Op> void atomic(Warp &w, const Instruction &x) {
    Places places;
    w.block->resolve(w, x, 0, sizeof(T), sizeof(T), Access::atomic, places);
    T b[warp_size], c[warp_size], *d = w.row<T>(x.rows[1]);
    std::memcpy(b, w.row<T>(x.rows[2]), sizeof b);
    std::memcpy(c, w.row<T>(x.rows[x.count > 3 ? 3 : 2]), sizeof c);
    for (uint32_t rest = w.exec; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        d[lane] = update<T, Op>(places.at[lane], b[lane], c[lane]);
    }
}

template <class Op> Handler pick_integer(Type type) {
    if (type.bits == 64) return type.is_signed() ? atomic<int64_t, Op> : atomic<uint64_t, Op>;
    return type.is_signed() ? atomic<int32_t, Op> : atomic<uint32_t, Op>;
}

Handler pick(Decoder &d, Type type) {
    const int operation = d.one_of({"add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"});
    if (type.bits < 32 || type.is_pair()) d.refuse();
    if (type.is_float()) {
        if (operation != 0) d.refuse();
        d.ignore({"ftz", "noftz"});
        return type.bits == 64 ? atomic<double, AtomicAdd> : atomic<float, AtomicAdd>;
    }
    switch (operation) {
    case 0:
        return pick_integer<AtomicAdd>(type);
    case 1:
        return pick_integer<AtomicMinimum>(type);
    case 2:
        return pick_integer<AtomicMaximum>(type);
    case 3:
        return pick_integer<Exchange>(type);
    case 4:
        return pick_integer<CompareSwap>(type);
    case 5:
        return pick_integer<AtomicAnd>(type);
    case 6:
        return pick_integer<AtomicOr>(type);
    case 7:
        return pick_integer<AtomicXor>(type);
    case 8:
        return type.bits == 32 ? atomic<uint32_t, Increment> : nullptr;
    case 9:
        return type.bits == 32 ? atomic<uint32_t, Decrement> : nullptr;
    default:
        return nullptr;
    }
}

void decode_atomic(Decoder &d, bool returns) {
    const Type type = d.type();
    d.ignore({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"});
    const int space = d.one_of({"global", "shared", "shared::cta"});
    d.out.generic = space < 0;
    d.out.space = space > 0 ? Space::shared : Space::global;
    d.address(returns ? 1 : 0);
    Operand sink;
    sink.form = Operand::Form::sink;
    d.write(returns ? d.operand(0) : sink, type, false);
    for (size_t i = returns ? 2 : 1; i < d.operands(); ++i)
        d.source(i, type);
    d.out.count = static_cast<uint32_t>(d.operands() + (returns ? 0 : 1));
    const bool swaps = d.has("cas");
    if (d.out.count != (swaps ? 4u : 3u)) d.refuse();
    d.out.run = pick(d, type);
    if (d.out.run == nullptr) d.refuse();
}

} // namespace

void add_atomic_opcodes(DecodeTable &table) {
    table["atom"] = [](Decoder &d) { decode_atomic(d, true); };
    table["red"] = [](Decoder &d) { decode_atomic(d, false); };
}

} // namespace attune::emulator
