// A pass over lowered code that Halide lacks.
#pragma once

#include <string>

#include <Halide.h>

#include "schedules/lowered/stage_loops.h"

namespace attune::schedules {

/** Moves the conditions on a Func's update out of its loops, as far as they hold: `where` conditions of its reduction domain.
 *
 * Halide tests conditions that read other Funcs at the innermost statement, once an element, and where one of them reads a Func that is
 * computed in the same loop, it computes everything in the loop whether or not the update will run. What is computed in a loop of the
 * update serves that update alone, so that a condition the loop's body doesn't change may enclose the body.
 *
 * Add it by Pipeline::add_custom_lowering_pass. */
class LiftConditions : public Halide::Internal::IRMutator {
public:
    LiftConditions(const Halide::Func &func, int update) : func(func.name()), loops(loops_of(func, update)) {}

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;

private:
    const std::string func, loops;
};

} // namespace attune::schedules
