// A pass over lowered code that Halide lacks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

#include "schedules/lowered/uses.h"

namespace attune::schedules {

/** Software pipelining (M. Lam, PLDI 1988) of what two or three stages make of rows, each of which walks a whole row: a pass of the loop
 * over rows runs the first stage on the next row, the second on this one and the third on the one before, and their loops along the row as
 * one. So one row is read and another written while a third is worked on: a CPU looks some hundred instructions ahead, and a stage takes
 * thousands. A row may also be a group of short ones, and the loops that are joined those over its rows.
 *
 * A stage reads what the ones before it stored in buffers that hold one row, around the loop over rows (hoist_storage): a pass of the
 * joined loop runs the last stage first and the first one last, so that what belongs to the row before is read before it is
 * overwritten, and what stages make of a whole row follows the loop. It is the schedule's promise that a pass of the loop over rows makes
 * one row, and that in a pass of the joined loop stages touch what they pass on at the same places. The first stage makes the last row
 * twice.
 *
 * Add it by Pipeline::add_custom_lowering_pass. It does nothing where no loop over rows has all of the stages' loops, in no other loop and
 * under no condition. Throws Halide::CompileError where a stage stores what another reads before its loop along the row, or stores before
 * the first such loop, where the third reads what the first stores, or what follows a stage's loop what the loop of an earlier one stores,
 * or where a loop is there more than once. */
class PipelineRows : public Halide::Internal::IRMutator {
public:
    /** A loop along the row, by what its name begins with, and how many passes of it one of the joined loop makes. */
    struct Loop {
        std::string name;
        int passes;
    };
    using Stage = std::vector<Loop>; // in order
    using Stages = std::vector<Stage>;
    explicit PipelineRows(Stages stages) : stages(std::move(stages)) {}

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::LetStmt *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;

private:
    const Stages stages;
    Values names; // bound around a statement
};

} // namespace attune::schedules
