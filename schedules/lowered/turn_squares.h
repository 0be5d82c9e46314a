// A pass over lowered code that Halide lacks.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::schedules {

/** Turns squares of a Func's elements in registers: a loop that loads vectors of n elements, some stride apart, each from the element after
 * that of the iteration before, loads n rows of a square whole, and shuffles them, for each n iterations, instead of element by element.
 * For innermost loops, which don't store to the Func and have no negative extent, and loads under no condition. Iterations that are left
 * over stay as they are.
 *
 * Add it by Pipeline::add_custom_lowering_pass. */
class TurnSquares : public Halide::Internal::IRMutator {
public:
    explicit TurnSquares(const Halide::Func &func) : func(func.name()) {}

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;

private:
    const std::string func;
};

} // namespace attune::schedules
