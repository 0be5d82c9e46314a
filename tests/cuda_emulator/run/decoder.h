// Turns statements into instructions. A decoder of one opcode asks for the modifiers and operands that it knows; what it did not ask for
// makes the statement an unknown one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "lanes.h"
#include "program.h"

namespace attune::emulator {

/** The address of a variable; throws where there is none of this name. Sets its space. */
using Symbols = std::function<uint64_t(const std::string &, Space &)>;

/** Hands out the slots of a program. */
class Slots {
public:
    explicit Slots(Program &program);
    uint32_t reg(int index) const { return static_cast<uint32_t>(index); }
    uint32_t constant(Width width, uint64_t bits);
    uint32_t special(const std::string &name);
    uint32_t sink(Width width);

private:
    Program &program;
    std::map<std::pair<int, uint64_t>, uint32_t> constants;
    std::map<std::string, uint32_t> specials;
    uint32_t sinks[3] = {0, 0, 0};

    uint32_t add(const Slot &slot);
};

class Decoder {
public:
    Decoder(Program &program, Slots &slots, const Symbols &symbols, const Statement &statement, uint32_t index);

    Instruction out;

    const std::string &opcode() const { return statement.parts[0]; }
    /** Whether a modifier is there; it counts as known then. */
    bool has(const char *modifier);
    /** The first of these modifiers that is there, as its index; -1 for none. */
    int one_of(std::initializer_list<const char *> modifiers);
    /** Modifiers that change nothing here. */
    void ignore(std::initializer_list<const char *> modifiers) { one_of(modifiers), has_any(modifiers); }
    void ignore_beginning(const char *start);
    /** The type of this place among the types of the opcode. */
    Type type(size_t n = 0);
    size_t types() const { return type_parts.size(); }

    size_t operands() const { return statement.operands.size(); }
    const Operand &operand(size_t i) const;
    /** Append the operand to the instruction's rows. */
    void dest(size_t i, Type type) { write(operand(i), type, false); }
    void source(size_t i, Type type) { read(operand(i), type); }
    void write(const Operand &operand, Type type, bool reads);
    void read(const Operand &operand, Type type);
    /** As write, of a register that is written some time after the instruction. */
    void write_later(const Operand &operand, Type type, bool reads);
    void write_second(const Operand &operand); // q of "p|q"; a sink where there is none
    void constant(Width width, uint64_t bits) { append(slots.constant(width, bits), true, false); }
    /** Appends the base of an address and sets space-independent fields. */
    void address(size_t i);
    uint64_t immediate(size_t i) const;
    /** Number of bits of the register that is the operand: 1, 32 or 64. */
    int register_bits(const Operand &operand) const;
    /** The same as declared: 1, 8, 16, 32 or 64. */
    int declared_bits(const Operand &operand) const;
    Symbols symbols;
    const PtxKernel &kernel() const { return program.kernel; }

    [[noreturn]] void refuse(const std::string &why = "") const;
    /** Checks that all was asked for and stores the instruction. */
    void finish();

private:
    Program &program;
    Slots &slots;
    const Statement &statement;
    std::vector<bool> known;
    std::vector<size_t> type_parts;

    void has_any(std::initializer_list<const char *> modifiers);
    void append(uint32_t slot, bool reads, bool writes) { program.uses.push_back({slot, reads, writes}); }
    uint64_t literal(const Operand &operand, Type type) const;
};

using DecodeFunction = void (*)(Decoder &);
using DecodeTable = std::unordered_map<std::string, DecodeFunction>;

// Each adds the opcodes of its family.
void add_integer_opcodes(DecodeTable &table);
void add_bit_opcodes(DecodeTable &table);
void add_arithmetic_opcodes(DecodeTable &table);
void add_float_opcodes(DecodeTable &table);
void add_compare_opcodes(DecodeTable &table);
void add_move_opcodes(DecodeTable &table);
void add_convert_opcodes(DecodeTable &table);
void add_memory_opcodes(DecodeTable &table);
void add_atomic_opcodes(DecodeTable &table);
void add_copy_opcodes(DecodeTable &table);
void add_warp_opcodes(DecodeTable &table);
void add_matrix_opcodes(DecodeTable &table);
void add_warpgroup_opcodes(DecodeTable &table);
void add_control_opcodes(DecodeTable &table);

} // namespace attune::emulator
