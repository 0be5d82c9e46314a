#include "schedules/lowered/decide_conditions.h"

#include <algorithm>

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

Stmt DecideConditions::visit(const LetStmt *op) {
    if (op->value.type().is_bool()) values[op->name] = substitute(values, op->value);
    const Expr value = mutate(op->value), simple = known.empty() ? value : simplify(value);
    if (is_const(simple)) return mutate(substitute(op->name, simple, op->body)); // what depends on it may be decided, too
    return LetStmt::make(op->name, value, mutate(op->body));
}

Stmt DecideConditions::where(const Expr &holds, const Stmt &s) {
    if (!s.defined()) return s;
    if (!is_pure(holds)) return mutate(s); // it may no longer hold further down
    known.push_back(holds);
    Stmt decided = mutate(s);
    known.pop_back();
    return decided;
}

DecideConditions::Known DecideConditions::is_known(const Expr &condition) const {
    if (is_const(condition)) return is_const_zero(condition) ? Known::no : Known::yes;
    const auto holds = [&](const Expr &c) { return std::any_of(known.begin(), known.end(), [&](const Expr &k) { return equal(k, c); }); };
    if (holds(condition)) return Known::yes;
    return holds(simplify(!condition)) ? Known::no : Known::maybe;
}

Stmt DecideConditions::visit(const IfThenElse *op) {
    const Expr condition = simplify(substitute(values, op->condition));
    switch (is_known(condition)) {
    case Known::yes:
        return mutate(op->then_case);
    case Known::no:
        return op->else_case.defined() ? mutate(op->else_case) : Evaluate::make(0);
    default:
        return IfThenElse::make(op->condition, where(condition, op->then_case), where(simplify(!condition), op->else_case));
    }
}

Expr DecideConditions::visit(const Select *op) {
    if (known.empty() || op->condition.type().is_vector()) return IRMutator::visit(op);
    switch (is_known(simplify(substitute(values, op->condition)))) {
    case Known::yes:
        return mutate(op->true_value);
    case Known::no:
        return mutate(op->false_value);
    default:
        return IRMutator::visit(op);
    }
}

} // namespace attune::schedules
