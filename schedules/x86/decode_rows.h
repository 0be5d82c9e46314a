// Rows of decoding whose scores and outputs are made at once, in registers.
#pragma once

#include "schedules/machine.h"

namespace attune::schedules::x86 {

inline int rows_in_registers(const Machine &machine) { return machine.vector_registers >= 32 ? 4 : 2; }

} // namespace attune::schedules::x86
