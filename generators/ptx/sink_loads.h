// Loads of matrices, moved to where they are used.
#pragma once

#include "body.h"

namespace attune::ptx {

/** Moves an ldmatrix whose results later blocks read right before the first read of each of them. The compiler takes it for a call that it
 * must not move; where many stand before a branch and are used behind it, all of their registers would be taken at once. A load stays where
 * a barrier, a write to shared memory or a change of its address lies on a way to a use, or a use in a loop that it isn't in. */
void sink_matrix_loads(Kernel &kernel);

} // namespace attune::ptx
