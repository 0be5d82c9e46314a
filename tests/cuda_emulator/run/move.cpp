// Moves: mov, with the packing and unpacking of lists, and cvta.
#include "block.h"
#include "decode.h"
#include "operations.h"

namespace attune::emulator {
namespace {

struct Same {
    template <class T> static T apply(T a) { return a; }
};

void move_predicate(Warp &w, const Instruction &x) { blend(w.mask(x.rows[0]), w.exec, w.mask(x.rows[1])); }

/** Joins `count` parts of `bytes` bytes, the lowest first. */
template <class D> void pack(Warp &w, const Instruction &x) {
    D *d = w.row<D>(x.rows[0]);
    D joined[warp_size] = {};
    for (uint32_t i = 0; i < x.count; ++i) {
        const uint32_t shift = i * x.bytes * 8;
        const uint32_t *part = w.row<uint32_t>(x.rows[1 + i]);
        for (uint32_t lane = 0; lane < warp_size; ++lane)
            joined[lane] |= static_cast<D>(part[lane]) << shift;
    }
    each_lane(w.exec, [&](uint32_t lane) { d[lane] = joined[lane]; });
}

template <class S> void unpack(Warp &w, const Instruction &x) {
    S parts[warp_size];
    std::memcpy(parts, w.row<S>(x.rows[x.count]), sizeof parts);
    const auto mask = static_cast<uint32_t>((1ull << x.bytes * 8) - 1);
    for (uint32_t i = 0; i < x.count; ++i) {
        const uint32_t shift = i * x.bytes * 8;
        uint32_t *d = w.row<uint32_t>(x.rows[i]);
        each_lane(w.exec, [&](uint32_t lane) { d[lane] = static_cast<uint32_t>(parts[lane] >> shift) & mask; });
    }
}

void check_list(Decoder &d, Type type, size_t count) {
    if (type.bits / static_cast<int>(count) > 32) d.refuse();
    d.out.count = static_cast<uint32_t>(count);
    d.out.bytes = static_cast<uint8_t>(type.bits / 8 / static_cast<int>(count));
}

void decode_pack(Decoder &d, Type type) {
    const auto &elements = d.operand(1).elements;
    check_list(d, type, elements.size());
    d.dest(0, type);
    for (const Operand &element : elements)
        d.read(element, {Kind::bits, d.out.bytes * 8});
    d.out.run = type.bits == 64 ? pack<uint64_t> : pack<uint32_t>;
}

void decode_unpack(Decoder &d, Type type) {
    const auto &elements = d.operand(0).elements;
    check_list(d, type, elements.size());
    for (const Operand &element : elements)
        d.write(element, {Kind::bits, d.out.bytes * 8}, false);
    d.source(1, type);
    d.out.run = type.bits == 64 ? unpack<uint64_t> : unpack<uint32_t>;
}

/** Clocks count the warp's instructions. */
template <class T> void read_clock(Warp &w, const Instruction &x) {
    T *d = w.row<T>(x.rows[0]);
    each_lane(w.exec, [&](uint32_t lane) { d[lane] = static_cast<T>(w.executed); });
}

bool is_clock(const std::string &name) {
    return name == "%clock" || name == "%clock64" || name == "%clock_hi" || name == "%globaltimer" || name == "%globaltimer_lo";
}

void decode_move(Decoder &d) {
    const Type type = d.type();
    if (d.operands() != 2) d.refuse();
    if (d.operand(1).form == Operand::Form::list) return decode_pack(d, type);
    if (d.operand(0).form == Operand::Form::list) return decode_unpack(d, type);
    d.dest(0, type);
    if (d.operand(1).form == Operand::Form::special && is_clock(d.operand(1).name)) {
        d.out.run = type.bits == 64 ? read_clock<uint64_t> : read_clock<uint32_t>;
        return;
    }
    if (d.operand(1).form == Operand::Form::special && type.bits == 64 && d.operand(1).name != "%gridid") d.refuse();
    d.source(1, type);
    d.out.run = type.bits == 1 ? move_predicate : type.bits == 64 ? unary<uint64_t, Same> : unary<uint32_t, Same>;
}

/** Adds the start of the window in which generic addresses lie; .to takes it away. */
void add_window(Warp &w, const Instruction &x) {
    uint64_t *d = w.row<uint64_t>(x.rows[0]);
    const uint64_t *a = w.row<uint64_t>(x.rows[1]);
    const auto window = static_cast<uint64_t>(x.immediate);
    each_lane(w.exec, [=](uint32_t lane) { d[lane] = a[lane] + window; });
}

void decode_generic_address(Decoder &d) {
    const bool to = d.has("to");
    const int space = d.one_of({"global", "const", "shared", "local", "shared::cta"});
    if (space < 0 || d.type().bits != 64) d.refuse();
    d.dest(0, d.type());
    d.source(1, d.type());
    const uint64_t window = space == 2 || space == 4 ? shared_window : space == 3 ? local_window : 0;
    d.out.immediate = static_cast<int64_t>(to ? 0 - window : window);
    d.out.run = add_window;
}

/** isspacep: which space a generic address lies in. */
void test_space(Warp &w, const Instruction &x) {
    const uint64_t *a = w.row<uint64_t>(x.rows[1]);
    uint32_t result = 0;
    for (uint32_t lane = 0; lane < warp_size; ++lane)
        result |= static_cast<uint32_t>(space_of(a[lane]) == x.space) << lane;
    blend(w.mask(x.rows[0]), w.exec, result);
}
void decode_test_space(Decoder &d) {
    static const Space spaces[] = {Space::global, Space::shared, Space::local, Space::shared};
    const int space = d.one_of({"global", "shared", "local", "shared::cta"});
    if (space < 0) d.refuse();
    d.out.space = spaces[space];
    d.dest(0, predicate_type);
    d.source(1, b64);
    d.out.run = test_space;
}

} // namespace

void add_move_opcodes(DecodeTable &table) {
    table["mov"] = decode_move;
    table["cvta"] = decode_generic_address;
    table["isspacep"] = decode_test_space;
}

} // namespace attune::emulator
