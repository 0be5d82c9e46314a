// What a kernel for CPUs skips at once.
#pragma once

#include "attune/attune.h"
#include "block_grid.h"

namespace attune::tools {

/** Queries of a tile and keys of a panel of a kernel of attention, as schedules/tuned has them for the class of CPU that runs it here. A
 * kernel that skips nothing (`reference`) has those of `flash`. */
BlockSize cpu_block(const attune_kernel &kernel);

/** The same of the kernel `flash` that attune_add_kernel makes of such a type and width (0: any). */
BlockSize cpu_block(attune_type type, int32_t head_dim);

} // namespace attune::tools
