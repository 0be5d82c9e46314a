// Copies from global to shared memory that don't pass through registers.
#pragma once

#include "module.h"

namespace attune::ptx {

/** Turns loads of 16 bytes from global memory whose value only goes to shared memory into cp.async, and waits for them at the barriers.
 * `stages`: see RewriteOptions. Returns the number of copies. */
int make_copies_async(Kernel &kernel, int stages);

} // namespace attune::ptx
