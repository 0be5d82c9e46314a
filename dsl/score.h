// What happens to a score between the dot product and softmax, in the order semantics fix: soft cap, then additive biases.
#pragma once

#include <Halide.h>

#include "dsl/mask.h"

namespace attune::dsl {

/** score + bias(key, query, head, batch); where the bias is -inf the key is masked, whatever the score. */
Halide::Expr add_bias(const Halide::Expr &score, const Halide::Func &bias, const Cell &cell);

/** The score where `allowed`, else the mark of a masked one: whatever the score held is gone. */
Halide::Expr mask_score(const Halide::Expr &score, const Halide::Expr &allowed);

} // namespace attune::dsl
