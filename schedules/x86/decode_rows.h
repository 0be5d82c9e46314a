// Rows of decoding whose scores and outputs are made at once, in registers.
#pragma once

#include "dsl/decode/decode.h"
#include "schedules/machine.h"

namespace attune::schedules::x86 {

inline int rows_in_registers(const Machine &machine) { return machine.vector_registers >= 32 ? 4 : 2; }

/** Rows that read values together, whose vectors of the output are added up at once. */
int rows_per_turn(const Machine &machine, const dsl::DecodeBlocking &blocking);

} // namespace attune::schedules::x86
