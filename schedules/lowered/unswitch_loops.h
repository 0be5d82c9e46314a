// A pass over lowered code that Halide lacks.
#pragma once

#include <set>
#include <string>

#include <Halide.h>

#include "schedules/lowered/stage_loops.h"

namespace attune::schedules {

/** Makes two loops of one with a condition inside that the loop doesn't change: one where it holds, one where it doesn't; and so on, while
 * there are such conditions, of statements and of if_then_else(), the same for all lanes of a vector. For the loops of a Func's definition,
 * of which the outermost that doesn't change it is taken.
 *
 * Halide specializes a stage on inputs alone, not on what depends on a loop further out; and where LLVM finds such a condition, it has
 * given up keeping sums in registers by then.
 *
 * Add it by Pipeline::add_custom_lowering_pass. `update` may be pure_definition. */
class UnswitchLoops : public Halide::Internal::IRMutator {
public:
    UnswitchLoops(const Halide::Func &func, int update) : loops(loops_of(func, update)) {}
    /** Only for conditions that read `read`. */
    UnswitchLoops(const Halide::Func &func, int update, const Halide::Func &read);

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;

private:
    const std::string loops;
    std::set<std::string> read; // the buffers of a Func, or none
};

} // namespace attune::schedules
