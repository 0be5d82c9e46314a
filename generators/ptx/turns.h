// Warpgroups that multiply one after another.
#pragma once

#include "module.h"

namespace attune::ptx {

/** Where a block of `threads` threads has several warpgroups, lets each begin a group of products by wgmma with both factors in shared
 * memory once the one before it has issued its own. Left alone they would multiply at the same time, and then all do other work while the
 * tensor cores wait; so one multiplies while the other does that (Shah et al., "FlashAttention-3", 2024, section 3.1).
 *
 * That all warpgroups come to these products equally often is the schedule's promise. Throws Error where they are in a loop without a
 * barrier of all threads: one warpgroup might get two turns ahead. */
void take_turns(Kernel &kernel, int threads);

} // namespace attune::ptx
