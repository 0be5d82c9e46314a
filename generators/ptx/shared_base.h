// Where shared memory begins.
#pragma once

#include "module.h"

namespace attune::ptx {

/** Halide takes shared memory to begin at address 0; since sm_90 it begins elsewhere. Makes every shared address of the kernel relative to
 * the symbol attune_shared. Returns whether there was one. */
bool rebase_shared_memory(Kernel &kernel);

/** The declaration of attune_shared, which the host sizes at launch. wgmma needs tiles at multiples of 1024 bytes. */
Variable shared_memory();

} // namespace attune::ptx
