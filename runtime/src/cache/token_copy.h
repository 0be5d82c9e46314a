// Runs of tokens copied from one tensor into another of the same type.
#pragma once

#include <cstdint>

#include "attune/attune.h"

namespace attune::runtime {

/** A token of one index of axis 0. */
struct TokenPlace {
    int64_t item, token;
};

/** Copies `tokens` tokens, counted along `axis` (1 or more), from one place to another. The tensors agree in type, rank and every extent
 * but those of axis 0 and `axis`, and share no memory. */
void copy_tokens(const attune_tensor &to, const TokenPlace &to_first, const attune_tensor &from, const TokenPlace &from_first,
                 int64_t tokens, int32_t axis);

} // namespace attune::runtime
