// ld and st of all state spaces, and what concerns caches.
#include "block.h"
#include "operations.h"

namespace attune::emulator {
namespace {

template <class M, class R> void load(Warp &w, const Instruction &x) {
    Places places;
    w.block->resolve(w, x, 0, x.count * sizeof(M), x.count * sizeof(M), Access::read, places);
    for (uint32_t i = 0; i < x.count; ++i) {
        R *d = w.row<R>(x.rows[1 + i]);
        each_lane(w.exec, [&](uint32_t lane) {
            M value;
            std::memcpy(&value, places.at[lane] + i * sizeof(M), sizeof value);
            d[lane] = static_cast<R>(value);
        });
    }
}

template <class M, class R> void store(Warp &w, const Instruction &x) {
    Places places;
    w.block->resolve(w, x, 0, x.count * sizeof(M), x.count * sizeof(M), Access::write, places);
    for (uint32_t i = 0; i < x.count; ++i) {
        const R *a = w.row<R>(x.rows[1 + i]);
        each_lane(w.exec, [&](uint32_t lane) {
            const auto value = static_cast<M>(a[lane]);
            std::memcpy(places.at[lane] + i * sizeof(M), &value, sizeof value);
        });
    }
}

/** ld.param: the same for all lanes. */
template <class M, class R> void load_parameter(Warp &w, const Instruction &x) {
    const uint8_t *from = w.block->launched().parameters.data() + x.immediate;
    for (uint32_t i = 0; i < x.count; ++i) {
        M value;
        std::memcpy(&value, from + i * sizeof(M), sizeof value);
        R *d = w.row<R>(x.rows[i]);
        each_lane(w.exec, [&](uint32_t lane) { d[lane] = static_cast<R>(value); });
    }
}

template <template <class, class> class Pick> Handler pick_handler(Type type, bool wide) {
    switch (type.is_signed() ? -type.bits : type.bits) {
    case 8:
        return wide ? Pick<uint8_t, uint64_t>::handler : Pick<uint8_t, uint32_t>::handler;
    case -8:
        return wide ? Pick<int8_t, uint64_t>::handler : Pick<int8_t, uint32_t>::handler;
    case 16:
        return wide ? Pick<uint16_t, uint64_t>::handler : Pick<uint16_t, uint32_t>::handler;
    case -16:
        return wide ? Pick<int16_t, uint64_t>::handler : Pick<int16_t, uint32_t>::handler;
    case 32:
        return wide ? Pick<uint32_t, uint64_t>::handler : Pick<uint32_t, uint32_t>::handler;
    case -32:
        return wide ? Pick<int32_t, uint64_t>::handler : Pick<uint32_t, uint32_t>::handler;
    default:
        return Pick<uint64_t, uint64_t>::handler;
    }
}
template <class M, class R> struct PickLoad { static constexpr Handler handler = load<M, R>; };
template <class M, class R> struct PickStore { static constexpr Handler handler = store<M, R>; };
template <class M, class R> struct PickParameter { static constexpr Handler handler = load_parameter<M, R>; };

void decode_modifiers(Decoder &d) {
    d.ignore({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "volatile", "relaxed", "acquire", "release", "cta", "cluster", "gpu",
              "sys"});
    d.ignore_beginning("L1::");
    d.ignore_beginning("L2::");
    d.out.generic = false;
}

/** Sets the space; generic where none is named. */
void decode_space(Decoder &d) {
    static const Space spaces[] = {Space::global, Space::constant, Space::shared, Space::local, Space::shared};
    const int space = d.one_of({"global", "const", "shared", "local", "shared::cta"});
    d.out.generic = space < 0;
    d.out.space = space < 0 ? Space::global : spaces[space];
}

/** The registers of a load or store: {a, b} or a. Their width; 64 for all or none. */
std::vector<Operand> values_of(Decoder &d, size_t i, Type type) {
    const int vector = d.one_of({"v2", "v4"});
    std::vector<Operand> values{d.operand(i)};
    if (d.operand(i).form == Operand::Form::list) values = d.operand(i).elements;
    if (values.size() != (vector == 0 ? 2u : vector == 1 ? 4u : 1u)) d.refuse("the number of registers is not that of the vector");
    if (values.size() * static_cast<size_t>(type.bits) > 128) d.refuse("a vector has 16 bytes at most");
    d.out.count = static_cast<uint32_t>(values.size());
    return values;
}

bool is_wide(Decoder &d, const std::vector<Operand> &values, Type type) {
    for (const Operand &value : values) {
        if (value.form == Operand::Form::reg) return d.register_bits(value) == 64;
    }
    return type.bits == 64;
}

void check_extension(Decoder &d, const std::vector<Operand> &values, Type type) {
    for (const Operand &value : values) {
        if (value.form != Operand::Form::reg) continue;
        const int bits = d.declared_bits(value);
        // A sign fills the register: those of 16 bits lie in words of 32.
        if (bits < type.bits || (type.is_signed() && bits == 16 && type.bits == 8))
            d.refuse("a register has another width than the instruction");
    }
}

void decode_load_parameter(Decoder &d, Type type, const std::vector<Operand> &values, bool wide) {
    const Operand &place = d.operand(1);
    for (const Operand &value : values)
        d.write(value, wide ? b64 : b32, false);
    for (const Parameter &parameter : d.kernel().parameters) {
        if (parameter.name != place.name || place.reg >= 0) continue;
        const auto end = place.offset + static_cast<int64_t>(values.size()) * type.bits / 8;
        if (place.offset < 0 || end > static_cast<int64_t>(parameter.bytes)) d.refuse("it reads past the parameter's end");
        d.out.immediate = static_cast<int64_t>(parameter.offset) + place.offset;
        d.out.run = pick_handler<PickParameter>(type, wide);
        return;
    }
    d.refuse("there is no parameter " + place.name);
}

void decode_load(Decoder &d) {
    const Type given = d.type(), type = given.is_integer() ? given : Type{Kind::bits, given.bits};
    if (d.operands() != 2) d.refuse();
    decode_modifiers(d);
    const std::vector<Operand> values = values_of(d, 0, type);
    const bool wide = is_wide(d, values, type);
    check_extension(d, values, type);
    const bool parameter = d.has("param");
    if (parameter || d.has("param::entry")) return decode_load_parameter(d, type, values, wide);
    decode_space(d);
    d.address(1);
    for (const Operand &value : values)
        d.write(value, wide ? b64 : b32, false);
    // 16-bit registers hold zeros above their bits.
    const bool small = type.bits == 16 && !values.empty() && values[0].form == Operand::Form::reg && d.declared_bits(values[0]) == 16;
    d.out.run = pick_handler<PickLoad>(small ? b16 : type, wide);
}

void decode_store(Decoder &d) {
    const Type type{Kind::bits, d.type().bits};
    if (d.operands() != 2) d.refuse();
    decode_modifiers(d);
    decode_space(d);
    if (d.out.space == Space::constant) d.refuse("constant memory can't be written");
    const std::vector<Operand> values = values_of(d, 1, type);
    const bool wide = is_wide(d, values, type);
    d.address(0);
    for (const Operand &value : values)
        d.read(value, wide ? b64 : value.form == Operand::Form::number ? type : b32);
    d.out.run = pick_handler<PickStore>(type, wide);
}

void prefetch_nothing(Warp &, const Instruction &) {}

} // namespace

void add_memory_opcodes(DecodeTable &table) {
    table["ld"] = decode_load;
    table["ldu"] = decode_load;
    table["st"] = decode_store;
    for (const char *name : {"prefetch", "prefetchu", "discard", "applypriority"}) {
        table[name] = [](Decoder &d) {
            d.ignore_beginning("");
            d.out.run = prefetch_nothing;
        };
    }
}

} // namespace attune::emulator
