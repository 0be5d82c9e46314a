// A pass over lowered code that Halide lacks.
#pragma once

#include <string>

#include <Halide.h>

#include "schedules/lowered/stage_loops.h"

namespace attune::schedules {

/** Takes a Func's elements into a reduction over all of them where they are stored, instead of reading them again: after each store of a
 * vector what the reduction's update makes of such a vector, and no loop of its own. What the reduction begins with comes before the
 * first, and so must its memory (hoist_storage). It is the schedule's promise that the reduction is over no less than what is stored, in
 * any order, and that it may take in what is stored besides.
 *
 * Halide computes a Func within a loop only where all that reads it is within: what others read, too, would be read from memory for a
 * maximum alone.
 *
 * Add it by Pipeline::add_custom_lowering_pass. Throws Halide::CompileError where the reduction's vectors aren't those that are stored, or
 * its update depends on more than them. */
class ReduceStores : public Halide::Internal::IRMutator {
public:
    ReduceStores(const Halide::Func &stored, const Halide::Func &reduction, int update)
        : stored(stored.name()), reduced(reduction.name()), loops(loops_of(reduction, update)) {}

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Block *op) override;

private:
    const std::string stored, reduced; // buffers
    const std::string loops;           // what the names of the reduction's begin with
};

} // namespace attune::schedules
