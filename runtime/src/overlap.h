// Which bytes strided tensors touch, and whether two of them, or one with itself, can share any.
#pragma once

#include "attune/attune.h"

namespace attune::runtime {

/** True if every byte the tensor touches has an address, and none is 2^62 or more from its data. */
bool in_address_space(const attune_tensor &tensor);

/** False only if no two elements share a byte. Sure for strides that are nested (each at least the span of the smaller ones); others count
 *  as overlapping. */
bool overlaps_itself(const attune_tensor &tensor);

/** False only if the two share no byte: one of them is empty, their spans are apart, or their strides keep them apart, as slices of one
 *  packed [batch, tokens, 3, heads, dim] are. */
bool may_overlap(const attune_tensor &a, const attune_tensor &b);

/** The same elements in the same order. */
bool same_view(const attune_tensor &a, const attune_tensor &b);

} // namespace attune::runtime
