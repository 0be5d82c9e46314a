// A pass over lowered code that Halide lacks.
#pragma once

#include <Halide.h>

namespace attune::schedules {

/** Gives Funcs stored in MemoryType::Register stack memory of their own, which LLVM then makes registers of.
 *
 * Halide gives an array the stack memory of one of the same element type that is no longer needed. If only one of those that share it is
 * indexed by a loop, LLVM keeps all of them in memory: sums are stored before and after each loop and read again. Here such an array is
 * allocated as one of vectors, and so shares with its like alone, whose indices must be constants: loops over their elements are unrolled
 * or vectorised.
 *
 * Add it by Pipeline::add_custom_lowering_pass. */
class RegisterArrays : public Halide::Internal::IRMutator {
protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *op) override;
};

} // namespace attune::schedules
