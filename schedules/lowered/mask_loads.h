// A pass over lowered code that Halide lacks.
#pragma once

#include <Halide.h>

namespace attune::schedules {

/** Loads neighbours under a mask where each is loaded by itself: select(x < n, load at min(x, n - 1), 0), where x are the whole numbers
 * from some first on. A row's last vector, filled up with zeros, is such a one, and 16 loads take nine times as long as one.
 *
 * For elements of at least `narrowest` bits, which the machine should have masked loads of. Add it by
 * Pipeline::add_custom_lowering_pass. */
class MaskLoads : public Halide::Internal::IRMutator {
public:
    explicit MaskLoads(int narrowest) : narrowest(narrowest) {}

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::LetStmt *op) override;
    Halide::Expr visit(const Halide::Internal::Let *op) override;
    Halide::Expr visit(const Halide::Internal::Select *op) override;

private:
    const int narrowest;
    Halide::Internal::Scope<Halide::Expr> vectors; // that have names
};

} // namespace attune::schedules
