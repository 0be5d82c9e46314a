// A pass over lowered code that Halide lacks.
#pragma once

#include <set>
#include <string>

#include <Halide.h>

#include "schedules/lowered/uses.h"

namespace attune::schedules {

/** Makes one store of two, one after the other, whose elements take turns in memory: of two vectors that are stored to every second place
 * each, one beside the other, maybe under the same mask. Halide's code generator does it where nothing is between them, no lane is left
 * out, and the places are told apart without names: else it stores each element by itself.
 *
 * Add it by Pipeline::add_custom_lowering_pass. What the second is made of must be in memory of the pipeline's own, as that of the first
 * may be stored to what it reads otherwise; others are left as they are. */
class InterleaveStores : public Halide::Internal::IRMutator {
protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::LetStmt *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Block *op) override;

private:
    Values names;              // bound around the statement
    std::set<std::string> own; // memory allocated around it

    Halide::Internal::Stmt joined(const Halide::Internal::Stmt &one, const Halide::Internal::Stmt &other) const;
};

} // namespace attune::schedules
