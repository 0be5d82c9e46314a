// Running a kernel over a grid of blocks.
#pragma once

#include "block.h"

namespace attune::emulator {

/** Runs all blocks, `threads` at a time. Throws the first Error; blocks not begun by then are left out.
 *  Returns the number of instructions that warps executed. */
uint64_t run_grid(const Launch &launch, unsigned threads);

} // namespace attune::emulator
