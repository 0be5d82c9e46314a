// A pass over lowered code that Halide lacks: one branch where many parts of a step have the same condition.
#pragma once

#include <Halide.h>

namespace attune::schedules::cuda {

/** Joins branches that follow one another and have the same condition, where what one does can't change it.
 *
 * A `where` whose condition reads a Func stays in the innermost loop, and unrolled, each part has it. Halide joins none that read memory;
 * the compiler behind it turns small ones into selects, which compute what isn't wanted.
 *
 * Add it by Pipeline::add_custom_lowering_pass, after PrivateRegisters. */
class JoinBranches : public Halide::Internal::IRMutator {
protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Block *op) override;
};

} // namespace attune::schedules::cuda
