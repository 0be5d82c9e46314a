// A pass over lowered code that Halide lacks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <Halide.h>

namespace attune::schedules {

/** Takes away, within both branches of a condition, the tests of the same one and of its opposite, also by names that stand for them, and
 * in values that they select, and what depends on names of values that so are constant; but not of what is read from memory, which may
 * change in between.
 *
 * What a Func is computed under gets a name outside of all branches (`f.loaded`), which Halide doesn't look through: in the code that
 * specialize() makes, all that is only needed in the other case would stay, never run. */
class DecideConditions : public Halide::Internal::IRMutator {
protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::LetStmt *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::IfThenElse *op) override;
    Halide::Expr visit(const Halide::Internal::Select *op) override;

private:
    std::map<std::string, Halide::Expr> values; // of names for conditions
    std::vector<Halide::Expr> known;            // conditions that hold

    enum class Known { yes, no, maybe };
    Known is_known(const Halide::Expr &condition) const; // without names
    Halide::Internal::Stmt where(const Halide::Expr &holds, const Halide::Internal::Stmt &s);
};

} // namespace attune::schedules
