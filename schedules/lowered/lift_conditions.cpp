#include "schedules/lowered/lift_conditions.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "schedules/lowered/uses.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// What a statement binds and writes, and under which conditions it writes to one Func. Conditions are written without the names that
// are bound inside, where that can be.
class Guards : public IRVisitor {
public:
    explicit Guards(const std::string &func) : func(func) {}

    std::set<std::string> bound, written;
    std::vector<Expr> common; // conditions that hold at every store to the Func

private:
    using IRVisitor::visit;
    const std::string &func;
    std::map<std::string, Expr> values;
    std::vector<Expr> held;
    bool stored = false;

    void visit(const LetStmt *op) override {
        op->value.accept(this);
        values[op->name] = substitute(values, op->value);
        bound.insert(op->name);
        op->body.accept(this);
    }
    void visit(const For *op) override {
        bound.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Allocate *op) override {
        written.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        held.push_back(substitute(values, op->condition));
        op->then_case.accept(this);
        held.pop_back();
        if (op->else_case.defined()) op->else_case.accept(this);
    }
    void visit(const Store *op) override {
        written.insert(op->name);
        IRVisitor::visit(op);
        // What threads of a GPU keep in registers has a number after its name.
        if (op->name != func && !starts_with(op->name, func + ".")) return;
        if (!stored) common = held;
        stored = true;
        const auto lost = [&](const Expr &c) { return std::none_of(held.begin(), held.end(), [&](const Expr &h) { return equal(c, h); }); };
        common.erase(std::remove_if(common.begin(), common.end(), lost), common.end());
    }
};

// Takes conditions that are known to hold away.
class Without : public IRMutator {
public:
    explicit Without(const std::vector<Expr> &known) : known(known) {}

private:
    using IRMutator::visit;
    const std::vector<Expr> &known;
    std::map<std::string, Expr> values;

    Stmt visit(const LetStmt *op) override {
        values[op->name] = substitute(values, op->value);
        return IRMutator::visit(op);
    }
    Stmt visit(const IfThenElse *op) override {
        const Expr condition = substitute(values, op->condition);
        const bool holds = std::any_of(known.begin(), known.end(), [&](const Expr &k) { return equal(k, condition); });
        return holds ? mutate(op->then_case) : IRMutator::visit(op);
    }
};

Stmt guarded(const std::vector<Expr> &conditions, Stmt s) {
    for (auto c = conditions.rbegin(); c != conditions.rend(); ++c)
        s = IfThenElse::make(*c, s);
    return s;
}

} // namespace

Stmt LiftConditions::visit(const For *op) {
    Stmt body = mutate(op->body);
    if (!starts_with(op->name, loops))
        return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
    Guards guards(func);
    body.accept(&guards);
    std::vector<Expr> lifted, outside, inside;
    for (const Expr &c : guards.common)
        if (!uses(c, guards.bound, guards.written)) {
            lifted.push_back(c);
            (uses(c, {op->name}, {}) ? inside : outside).push_back(c);
        }
    body = guarded(inside, Without(lifted).mutate(body));
    return guarded(outside, For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body));
}

} // namespace attune::schedules
