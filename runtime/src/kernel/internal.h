// Exported for Attune's own tests; no part of the interface.
#pragma once

#include <cstdint>

/** Blocks of scratch memory the process has got from the system so far: constant in the steady state. */
extern "C" int64_t attune_internal_allocation_count(void);
