#include "schedules/unswitch_loops.h"

#include <set>

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// Whether an expression may change in a loop that binds these names. What is loaded may be stored there.
class Changes : public IRVisitor {
public:
    explicit Changes(const std::set<std::string> &bound) : bound(bound) {}
    bool any = false;

private:
    using IRVisitor::visit;
    const std::set<std::string> &bound;

    void visit(const Variable *op) override { any = any || bound.count(op->name); }
    void visit(const Load *) override { any = true; }
    void visit(const Call *op) override {
        any = any || !op->is_pure();
        IRVisitor::visit(op);
    }
};

// The first condition in a loop that nothing in the loop changes.
class FixedCondition : public IRVisitor {
public:
    Expr condition;

private:
    using IRVisitor::visit;
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
        Changes changes(bound);
        op->condition.accept(&changes);
        if (!condition.defined() && !changes.any) condition = op->condition;
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
    FixedCondition fixed;
    op->accept(&fixed);
    if (!fixed.condition.defined()) return IRMutator::visit(op);
    return IfThenElse::make(fixed.condition, Decided(fixed.condition, true).mutate(op), Decided(fixed.condition, false).mutate(op));
}

} // namespace attune::schedules
