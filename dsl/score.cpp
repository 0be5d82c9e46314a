#include "dsl/score.h"

#include "dsl/numeric.h"

namespace attune::dsl {

using Halide::Expr;

Expr add_bias(const Expr &score, const Halide::Func &bias, const Cell &cell) {
    Expr b = bias(cell.key, cell.query, cell.head, cell.batch);
    return select(strict_equal(b, masked_score()), masked_score(), score + b);
}

Expr mask_score(const Expr &score, const Expr &allowed) { return select(allowed, score, masked_score()); }

} // namespace attune::dsl
