// Writes PTX text.
#pragma once

#include <string>

#include "error.h"
#include "module.h"

namespace attune::ptx {

/** The text of a module, as ptxas reads it. */
std::string print(const Module &module);

std::string print(const Operand &operand);

/** A statement on one line, for messages: a call as "call f(%r1, 2) -> %r3". */
std::string shown(const Instruction &instruction);

/** The error about a statement. */
Error error_at(const Instruction &instruction, const std::string &sentence);

} // namespace attune::ptx
