#include "schedules/unswitch_loops.h"

#include <set>

#include "schedules/uses.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// The names a loop stores to.
class Stores : public IRVisitor {
public:
    std::set<std::string> names;

private:
    using IRVisitor::visit;

    void visit(const Store *op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
};

// The first condition in a loop that nothing in the loop changes.
class FixedCondition : public IRVisitor {
public:
    explicit FixedCondition(const std::set<std::string> &stored) : stored(stored) {}
    Expr condition;

private:
    using IRVisitor::visit;
    const std::set<std::string> &stored;
    std::set<std::string> bound;

    void visit(const For *op) override {
        bound.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const LetStmt *op) override {
        bound.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        if (!condition.defined() && !uses(op->condition, bound, stored)) condition = op->condition;
        IRVisitor::visit(op);
    }
};

// The code that is left once it is known whether a condition holds.
class Decided : public IRMutator {
public:
    Decided(const Expr &condition, bool holds) : condition(condition), holds(holds) {}

private:
    using IRMutator::visit;
    const Expr &condition;
    const bool holds;

    Stmt visit(const IfThenElse *op) override {
        if (!equal(op->condition, condition)) return IRMutator::visit(op);
        if (holds) return mutate(op->then_case);
        return op->else_case.defined() ? mutate(op->else_case) : Evaluate::make(0);
    }
};

} // namespace

Stmt UnswitchLoops::visit(const For *op) {
    if (!starts_with(op->name, loops)) return IRMutator::visit(op);
    Stores stores;
    op->accept(&stores);
    FixedCondition fixed(stores.names);
    op->accept(&fixed);
    if (!fixed.condition.defined()) return IRMutator::visit(op);
    const auto loop_where = [&](bool holds) { return mutate(Decided(fixed.condition, holds).mutate(op)); };
    return IfThenElse::make(fixed.condition, loop_where(true), loop_where(false));
}

} // namespace attune::schedules
