// What rotary embedding and added positions share: rows [..., tokens, dim], the checks of their positions, and the run.
#pragma once

#include "runtime/src/position/encoding.h"

namespace attune::runtime {

/** `tensor`, of rank 2 to 4, as [batch, heads, tokens, dim]. Of three axes the first is the batch where `positions`, which may be NULL, has
 * several items; else heads. */
attune_tensor as_rank4(const attune_tensor &tensor, const attune_tensor *positions);

/** Checks x and y: f32, f16 or bf16 of rank 2 to 4, innermost stride 1, of one type and shape on one device, y apart from x or x itself. */
Status check_rows(const attune_tensor &x, const attune_tensor &y);

/** The positions of x's tokens: `given`, on x's device, or counted on from `offset`. */
Positions positions_of(const attune_tensor &x, const attune_tensor *given, int64_t offset, int32_t streams);

/** y = x with its positions, all checked. */
Status run_encoding(const Encoding &encoding, const Positions &positions, const attune_tensor &x, const attune_tensor &y,
                    const char *schedule, attune_call *call);

} // namespace attune::runtime
