// A pass over lowered code that Halide lacks: arrays in registers, one a thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include <Halide.h>

namespace attune::schedules::cuda {

/** Gives every thread its own part of a Func that is computed at a block's level and stored in MemoryType::Register.
 *
 * Halide takes such an array for one that all threads of the block share, and indexes it by thread too; PTX then has it in local memory,
 * whole, for each thread. Where a thread reads and writes nothing but its own elements, and at indices known once it is known which
 * thread it is, those elements can be numbered from 0 instead: what is left is a small array with constant indices, which becomes
 * registers. The loops over its elements must be unrolled for that.
 *
 * Add it by Pipeline::add_custom_lowering_pass. Throws Halide::CompileError where an element's index isn't constant for a thread. Two
 * things are the schedule's to see to: that no thread reads what another one wrote, and that indices of different elements differ by the
 * same numbers in every thread. */
class PrivateRegisters : public Halide::Internal::IRMutator {
public:
    using IRMutator::mutate;

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::LetStmt *op) override;
    Halide::Expr visit(const Halide::Internal::Let *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *op) override;
    Halide::Expr visit(const Halide::Internal::Load *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Store *op) override;

private:
    using Slots = std::map<int64_t, int>; // index as Halide has it, in thread 0 -> number among a thread's elements

    std::map<std::string, Halide::Expr> values; // of what is bound in the block; 0 for thread indices
    std::map<std::string, Slots> arrays;        // those in scope
    bool in_block = false, in_thread = false;

    Halide::Expr slot(const std::string &array, const Halide::Expr &index, int lane);
};

} // namespace attune::schedules::cuda
