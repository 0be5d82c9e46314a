// A mask as a boolean tensor, cell by cell: what a kernel without that mask is given instead.
#pragma once

#include "runtime/src/mask/interval_table.h"
#include "runtime/src/mask/rules.h"

namespace attune::runtime {

/** Writes what `mask.rest` allows to `cells`, contiguous [B or 1, Hq or 1, N, M]. The tensors are those its terms name, or nullptr;
 * input.documents and input.blocks aren't read. */
Status write_mask_cells(const PlanMask &mask, const MaskInput &input, const attune_tensor *boolean_mask, const attune_tensor *block_map,
                        const DocumentSets &documents, Call &call, const attune_tensor &cells);

/** Clears the cells where `boolean_mask`, each axis full or 1, is false. */
void restrict_to(const attune_tensor &boolean_mask, const attune_tensor &cells);

} // namespace attune::runtime
