// Runs a program's tile instructions by the emulator where the CPU faults at them.
#pragma once

#include <ucontext.h>

/** What the runtime asks before it takes the CPU's tiles. True if this process emulates them: if EMULATE_TILES is 1, and where the CPU has
 * none and ATTUNE_CPU asks for avx512_amx. The first call installs the handler of SIGILL that does. A CPU with tiles faults at them too, as
 * long as the process doesn't ask Linux for its permission. */
extern "C" bool attune_emulates_tiles();

namespace attune::test {

/** Executes the instruction at which a signal interrupted this thread, by emulate(), and moves on to the next. False if it can't, and
 * nothing was changed. */
bool emulate_at(mcontext_t &machine);

} // namespace attune::test
