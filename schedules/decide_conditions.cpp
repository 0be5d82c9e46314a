#include "schedules/decide_conditions.h"

#include <algorithm>

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

Stmt DecideConditions::visit(const LetStmt *op) {
    if (op->value.type().is_bool()) values[op->name] = substitute(values, op->value);
    return IRMutator::visit(op);
}

Stmt DecideConditions::where(const Expr &holds, const Stmt &s) {
    if (!s.defined()) return s;
    if (!is_pure(holds)) return mutate(s); // it may no longer hold further down
    known.push_back(holds);
    Stmt decided = mutate(s);
    known.pop_back();
    return decided;
}

Stmt DecideConditions::visit(const IfThenElse *op) {
    const Expr condition = simplify(substitute(values, op->condition)), opposite = simplify(!condition);
    const auto holds = [&](const Expr &c) { return std::any_of(known.begin(), known.end(), [&](const Expr &k) { return equal(k, c); }); };
    if (holds(condition)) return mutate(op->then_case);
    if (holds(opposite)) return op->else_case.defined() ? mutate(op->else_case) : Evaluate::make(0);
    return IfThenElse::make(op->condition, where(condition, op->then_case), where(opposite, op->else_case));
}

} // namespace attune::schedules
