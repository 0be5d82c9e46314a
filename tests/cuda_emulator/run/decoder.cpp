#include "decoder.h"

#include <algorithm>

namespace attune::emulator {

static Width width_of(Type type) { return type.bits == 1 ? Width::predicate : type.bits == 64 ? Width::wide : Width::narrow; }

Slots::Slots(Program &program) : program(program) {
    for (const Type &type : program.kernel.registers) {
        Slot slot;
        slot.width = width_of(type);
        program.slots.push_back(slot);
    }
}

uint32_t Slots::add(const Slot &slot) {
    program.slots.push_back(slot);
    return static_cast<uint32_t>(program.slots.size() - 1);
}

uint32_t Slots::constant(Width width, uint64_t bits) {
    const auto key = std::make_pair(static_cast<int>(width), bits);
    const auto found = constants.find(key);
    if (found != constants.end()) return found->second;
    Slot slot;
    slot.origin = Slot::Origin::constant;
    slot.width = width;
    slot.bits = bits;
    return constants[key] = add(slot);
}

uint32_t Slots::sink(Width width) {
    uint32_t &slot = sinks[static_cast<int>(width)];
    if (slot == 0) {
        Slot fresh;
        fresh.origin = Slot::Origin::sink;
        fresh.width = width;
        slot = add(fresh) + 1;
    }
    return slot - 1;
}

uint32_t Slots::special(const std::string &name) {
    const auto found = specials.find(name);
    if (found != specials.end()) return found->second;
    static const std::map<std::string, Special> names = {
        {"%tid", Special::tid},
        {"%ntid", Special::ntid},
        {"%ctaid", Special::ctaid},
        {"%nctaid", Special::nctaid},
        {"%laneid", Special::laneid},
        {"%warpid", Special::warpid},
        {"%nwarpid", Special::nwarpid},
        {"%lanemask_eq", Special::lanemask_eq},
        {"%lanemask_lt", Special::lanemask_lt},
        {"%lanemask_le", Special::lanemask_le},
        {"%lanemask_gt", Special::lanemask_gt},
        {"%lanemask_ge", Special::lanemask_ge},
        {"%dynamic_smem_size", Special::dynamic_shared},
        {"%total_smem_size", Special::total_shared},
        {"%smid", Special::zero},
        {"%gridid", Special::zero},
        {"%cluster_ctaid", Special::zero},
        {"%cluster_ctarank", Special::zero},
        {"%nsmid", Special::one},
        {"%cluster_nctaid", Special::one},
        {"%cluster_nctarank", Special::one},
        {"%clusterid", Special::ctaid},
        {"%nclusterid", Special::nctaid},
    };
    const size_t dot = name.find('.');
    const auto known = names.find(name.substr(0, dot));
    if (known == names.end()) throw Error(Status::invalid_ptx, "the emulator does not know the register " + name);
    Slot slot;
    slot.origin = Slot::Origin::special;
    slot.width = name == "%gridid" ? Width::wide : Width::narrow;
    slot.special = known->second;
    slot.axis = dot == std::string::npos ? 0 : static_cast<uint8_t>(name.back() - 'x');
    return specials[name] = add(slot);
}

Decoder::Decoder(Program &program, Slots &slots, const Symbols &symbols, const Statement &statement, uint32_t index)
    : symbols(symbols), program(program), slots(slots), statement(statement), known(statement.parts.size()) {
    known[0] = true;
    out.statement = index;
    out.first = static_cast<uint32_t>(program.uses.size());
    out.guard_negated = statement.guard_negated;
    Type type;
    for (size_t i = 1; i < statement.parts.size(); ++i) {
        if (read_type(statement.parts[i], type)) type_parts.push_back(i);
    }
}

bool Decoder::has(const char *modifier) {
    for (size_t i = 1; i < statement.parts.size(); ++i) {
        if (statement.parts[i] == modifier) {
            known[i] = true;
            return true;
        }
    }
    return false;
}

int Decoder::one_of(std::initializer_list<const char *> modifiers) {
    int index = 0;
    for (const char *modifier : modifiers) {
        if (has(modifier)) return index;
        ++index;
    }
    return -1;
}

void Decoder::has_any(std::initializer_list<const char *> modifiers) {
    for (const char *modifier : modifiers)
        has(modifier);
}

void Decoder::ignore_beginning(const char *start) {
    for (size_t i = 1; i < statement.parts.size(); ++i) {
        if (statement.parts[i].rfind(start, 0) == 0) known[i] = true;
    }
}

Type Decoder::type(size_t n) {
    if (n >= type_parts.size()) refuse("a type is missing");
    Type type;
    known[type_parts[n]] = true;
    read_type(statement.parts[type_parts[n]], type);
    return type;
}

const Operand &Decoder::operand(size_t i) const {
    if (i >= statement.operands.size()) refuse("an operand is missing");
    return statement.operands[i];
}

int Decoder::declared_bits(const Operand &operand) const {
    if (operand.form != Operand::Form::reg) refuse("expected a register");
    return kernel().registers[static_cast<size_t>(operand.reg)].bits;
}

int Decoder::register_bits(const Operand &operand) const {
    const int bits = declared_bits(operand);
    return bits == 1 || bits == 64 ? bits : 32;
}

void Decoder::write(const Operand &operand, Type type, bool reads) {
    if (operand.form == Operand::Form::sink) {
        append(slots.sink(width_of(type)), reads, true);
        return;
    }
    const int bits = register_bits(operand);
    if (operand.negated || bits != (type.bits == 1 || type.bits == 64 ? type.bits : 32))
        refuse("a register has another width than the instruction");
    append(slots.reg(operand.reg), reads, true);
}

void Decoder::write_later(const Operand &operand, Type type, bool reads) {
    write(operand, type, reads);
    program.slots[program.uses.back().slot].keeps_row = true;
}

void Decoder::write_second(const Operand &operand) {
    if (operand.second < 0) {
        append(slots.sink(Width::predicate), false, true);
    } else {
        append(slots.reg(operand.second), false, true);
    }
}

uint64_t Decoder::literal(const Operand &operand, Type type) const {
    uint64_t bits = operand.bits;
    if (operand.float_bits == 64 && type.bits == 32) bits = bits_as<uint32_t>(static_cast<float>(bits_as<double>(bits)));
    if (operand.float_bits == 32 && type.bits == 64)
        bits = bits_as<uint64_t>(static_cast<double>(bits_as<float>(static_cast<uint32_t>(bits))));
    if (type.bits == 1) return bits != 0 ? all_lanes : 0;
    return type.bits == 64 ? bits : bits & ((1ull << type.bits) - 1);
}

void Decoder::read(const Operand &operand, Type type) {
    switch (operand.form) {
    case Operand::Form::number:
        append(slots.constant(width_of(type), literal(operand, type)), true, false);
        break;
    case Operand::Form::special:
        append(slots.special(operand.name), true, false);
        break;
    case Operand::Form::symbol: {
        Space space;
        append(slots.constant(width_of(type), symbols(operand.name, space)), true, false);
        break;
    }
    case Operand::Form::reg: {
        const int bits = register_bits(operand), expected = type.bits == 1 || type.bits == 64 ? type.bits : 32;
        if (operand.negated || operand.second >= 0) refuse();
        if (bits != expected) refuse("a register has another width than the instruction");
        append(slots.reg(operand.reg), true, false);
        break;
    }
    default:
        refuse("an operand is no value");
    }
}

void Decoder::address(size_t i) {
    const Operand &place = operand(i);
    if (place.form != Operand::Form::address) refuse("expected an address");
    out.immediate = place.offset;
    out.wide_address = true;
    if (place.reg >= 0) {
        out.wide_address = kernel().registers[static_cast<size_t>(place.reg)].bits == 64;
        append(slots.reg(place.reg), true, false);
    } else {
        Space space;
        append(slots.constant(Width::wide, place.name.empty() ? 0 : symbols(place.name, space)), true, false);
    }
}

uint64_t Decoder::immediate(size_t i) const {
    if (operand(i).form != Operand::Form::number || operand(i).float_bits != 0) refuse("expected a number");
    return operand(i).bits;
}

void Decoder::refuse(const std::string &why) const {
    throw Error(Status::invalid_ptx, why.empty() ? "the emulator does not know this form of the instruction" : why);
}

void Decoder::finish() {
    for (size_t i = 0; i < known.size(); ++i) {
        if (!known[i]) refuse("the emulator does not know ." + statement.parts[i] + " here");
    }
    program.code.push_back(out);
}

} // namespace attune::emulator
