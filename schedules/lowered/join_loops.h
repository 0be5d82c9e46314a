// A pass over lowered code that Halide lacks.
#pragma once

#include <string>

#include <Halide.h>

#include "schedules/lowered/stage_loops.h"

namespace attune::schedules {

/** Runs two loops as one, a pass of the first and then one of the second in turn: the outermost loop of a Func's definition, and that of
 * the update of a reduction that reads, in the same pass, what the first has just stored. What the reduction begins with comes before both,
 * and so must its memory (hoist_storage). It is the schedule's promise that nothing in between changes what the second reads.
 *
 * Halide computes a Func within a loop only where all that reads it is within, and joins loops (compute_with) only where neither reads the
 * other. What is read again later, as scores and weights are, would have to be read from memory for their maximum and sum alone.
 *
 * Add it by Pipeline::add_custom_lowering_pass. Throws Halide::CompileError where that isn't so, or the loops aren't as long as each other.
 * `first_update` may be pure_definition. */
class JoinLoops : public Halide::Internal::IRMutator {
public:
    JoinLoops(const Halide::Func &first, int first_update, const Halide::Func &reduction, int update)
        : first(loops_of(first, first_update)), second(loops_of(reduction, update)), reduced(reduction.name()) {}

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Block *op) override;

private:
    const std::string first, second; // what the names of their loops begin with
    const std::string reduced;       // the reduction's buffer
};

} // namespace attune::schedules
