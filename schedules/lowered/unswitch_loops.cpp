#include "schedules/lowered/unswitch_loops.h"

#include <map>
#include <set>

#include "dsl/one_lane.h"
#include "schedules/lowered/uses.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// The first condition in a loop that nothing in the loop changes, in terms of what is known outside; that reads one of `read`, if there are
// any.
class FixedCondition : public IRVisitor {
public:
    FixedCondition(const std::set<std::string> &stored, const std::set<std::string> &read) : stored(stored), read(read) {}
    Expr condition;

private:
    using IRVisitor::visit;
    const std::set<std::string> &stored, &read;
    std::set<std::string> bound;
    std::map<std::string, Expr> fixed; // of what is bound, the values that nothing changes

    void bind(const std::string &name, const Expr &value) {
        const Expr outside = substitute(fixed, value);
        if (uses(outside, bound, stored))
            bound.insert(name);
        else
            fixed[name] = outside;
    }
    void consider(const Expr &found) {
        if (condition.defined()) return;
        const Expr outside = dsl::one_lane(substitute(fixed, found));
        if (outside.type().is_vector()) return;
        if ((read.empty() || uses(outside, {}, read)) && !uses(outside, bound, stored)) condition = outside;
    }

    void visit(const For *op) override {
        bound.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const LetStmt *op) override {
        bind(op->name, op->value);
        IRVisitor::visit(op);
    }
    void visit(const Let *op) override {
        bind(op->name, op->value);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        consider(op->condition);
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        if (op->is_intrinsic(Call::if_then_else)) consider(op->args[0]);
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
    std::map<std::string, Expr> lets;

    bool is_decided(const Expr &found) const { return equal(dsl::one_lane(substitute(lets, found)), condition); }

    Stmt visit(const LetStmt *op) override {
        lets[op->name] = substitute(lets, op->value);
        return IRMutator::visit(op);
    }
    Expr visit(const Let *op) override {
        lets[op->name] = substitute(lets, op->value);
        return IRMutator::visit(op);
    }
    Stmt visit(const IfThenElse *op) override {
        if (!is_decided(op->condition)) return IRMutator::visit(op);
        if (holds) return mutate(op->then_case);
        return op->else_case.defined() ? mutate(op->else_case) : Evaluate::make(0);
    }
    Expr visit(const Call *op) override {
        if (!op->is_intrinsic(Call::if_then_else) || op->args.size() != 3 || !is_decided(op->args[0])) return IRMutator::visit(op);
        return mutate(op->args[holds ? 1 : 2]);
    }
};

} // namespace

UnswitchLoops::UnswitchLoops(const Halide::Func &func, int update, const Halide::Func &read) : UnswitchLoops(func, update) {
    const int values = read.outputs();
    for (int i = 0; i < values; i++)
        this->read.insert(values == 1 ? read.name() : read.name() + "." + std::to_string(i));
}

Stmt UnswitchLoops::visit(const For *op) {
    if (!starts_with(op->name, loops)) return IRMutator::visit(op);
    const std::set<std::string> stored = stored_in(op);
    FixedCondition fixed(stored, read);
    op->accept(&fixed);
    if (!fixed.condition.defined()) return IRMutator::visit(op);
    const auto loop_where = [&](bool holds) { return mutate(Decided(fixed.condition, holds).mutate(op)); };
    return IfThenElse::make(fixed.condition, loop_where(true), loop_where(false));
}

} // namespace attune::schedules
