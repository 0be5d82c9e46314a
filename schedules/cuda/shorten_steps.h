// A pass over lowered code that Halide lacks: a loop that ends where a block's own work ends.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::schedules::cuda {

/** Ends loops early that a condition `dsl::warp::in_steps(step, count)` encloses the body of.
 *
 * Left to itself Halide turns a `where(step < count)` into the loop's end before it arranges that copies run some steps ahead of their use,
 * and then puts the first step's copies into the loop, as an inner one of varying length. Through a call it can't look into, it leaves the
 * condition where it is: around the body. Here, after all else, it becomes the loop's end.
 *
 * Add it by Pipeline::add_custom_lowering_pass. Where the step isn't the loop's variable plus a constant, or the count changes in the loop,
 * what is left is a condition like any other. */
class ShortenSteps : public Halide::Internal::IRMutator {
protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::IfThenElse *op) override;

private:
    std::string loop;               // the innermost
    Halide::Expr first_step, count; // of its condition, if there was one: the step, in terms of the loop's variable
};

} // namespace attune::schedules::cuda
