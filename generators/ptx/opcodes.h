// What each instruction of the subset reads and writes.
#pragma once

#include <string>
#include <vector>

#include "module.h"

namespace attune::ptx {

struct Opcode {
    const char *name;        // the opcode, or its first parts: "bar.red" goes before "bar"
    int writes;              // leading operands that it writes
    bool reads_them = false; // reads what it writes, too: an accumulator
    bool branches = false;   // nothing after it runs with certainty
};

/** The table's entry, or nullptr if the opcode is unknown. */
const Opcode *find_opcode(const std::string &opcode);

/** Registers that the instruction writes: also where a guard may keep it from doing so. */
std::vector<std::string> definitions(const Instruction &instruction);

/** Registers that it reads, its guard and the bases of its addresses included; one that stands there twice is listed twice. */
std::vector<std::string> uses(const Instruction &instruction);

/** Appends the registers of an operand, also those in an address, a vector or a pair. */
void append_registers(const Operand &operand, std::vector<std::string> &registers);

/** Whether a straight run of instructions ends here: a label, a branch or an exit. */
bool ends_block(const Instruction &instruction);

/** Whether what it gives follows from its operands, or is read where nothing ever changes: not of other threads, nor of other memory. */
bool follows_from_operands(const Instruction &instruction);

/** Whether it reads or writes shared memory by address; ld.param and the like do not. */
bool accesses_shared(const Instruction &instruction);

} // namespace attune::ptx
