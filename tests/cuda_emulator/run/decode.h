// From a parsed kernel to a program that runs.
#pragma once

#include <memory>

#include "decoder.h"

namespace attune::emulator {

/** Decodes a kernel of a module. `globals` holds the addresses of the module's .global and .const variables. Registers share rows unless
 *  `shares_registers` is false. Throws Error naming the PTX line of what the emulator does not know. */
std::unique_ptr<Program> decode(const PtxModule &module, const PtxKernel &kernel, const std::map<std::string, uint64_t> &globals,
                                bool shares_registers);

/** Gives every slot that an instruction uses its row. */
void allocate_registers(Program &program);

/** Addresses in .shared begin here, as the first KiB is the system's on a real device. */
inline constexpr uint64_t shared_start = 1024;

} // namespace attune::emulator
