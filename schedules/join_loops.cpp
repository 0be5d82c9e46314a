#include "schedules/join_loops.h"

#include <set>
#include <vector>

#include "schedules/uses.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// The loops whose names begin so, that are in no other loop and under no condition.
class FindLoops : public IRVisitor {
public:
    explicit FindLoops(const std::string &prefix) : prefix(prefix) {}
    int count = 0;
    const For *loop = nullptr; // the last of them, and the names bound around it
    Values names;
    std::set<std::string> allocated; // around it

private:
    using IRVisitor::visit;
    const std::string &prefix;
    Values around;
    std::set<std::string> memory;

    void visit(const LetStmt *op) override {
        around.emplace_back(op->name, op->value);
        op->body.accept(this);
        around.pop_back();
    }
    void visit(const Allocate *op) override {
        memory.insert(op->name);
        IRVisitor::visit(op);
        memory.erase(op->name);
    }
    void visit(const IfThenElse *) override {}
    void visit(const For *op) override {
        if (!starts_with(op->name, prefix)) return;
        count++, loop = op, names = around, allocated = memory;
    }
};

FindLoops found(const Stmt &s, const std::string &prefix) {
    FindLoops loops(prefix);
    s.accept(&loops);
    return loops;
}

// Puts a statement in the place of a loop, and takes out what a buffer is begun with, before that loop.
class ReplaceLoop : public IRMutator {
public:
    ReplaceLoop(const For *loop, const Stmt &by, const std::string &begun = "") : loop(loop), by(by), begun(begun) {}
    std::vector<Stmt> taken;

private:
    using IRMutator::visit;
    const For *loop;
    const Stmt by;
    const std::string begun;
    bool found = false;

    Stmt visit(const IfThenElse *op) override { return op; }
    Stmt visit(const For *op) override {
        if (op != loop) return op; // what loops store is no beginning
        found = true;
        return by;
    }
    Stmt visit(const Store *op) override {
        if (op->name != begun || found) return op;
        taken.emplace_back(op);
        return Evaluate::make(0);
    }
};

Expr in_full(const Values &names, const Expr &e) { return simplify(substituted(names, e)); }

} // namespace

Stmt JoinLoops::visit(const Block *op) {
    const FindLoops before = found(op->first, first), after = found(op->rest, second);
    if (before.count != 1 || after.count != 1) return IRMutator::visit(op);
    const For *one = before.loop, *other = after.loop;
    if (!equal(in_full(before.names, one->min), in_full(after.names, other->min)) ||
        !equal(in_full(before.names, one->extent), in_full(after.names, other->extent)))
        throw Halide::CompileError("attune: loops that are to be joined, " + one->name + " and " + other->name + ", differ in length");
    if (after.allocated.count(reduced) > 0)
        throw Halide::CompileError("attune: " + reduced + " has no memory yet where " + one->name + " is, which it is to be joined with");
    ReplaceLoop without(other, Evaluate::make(0), reduced);
    const Stmt rest = without.mutate(op->rest);
    if (without.taken.empty())
        throw Halide::CompileError("attune: nothing begins " + reduced + " before " + other->name + ", which is to be joined");
    const Stmt reading = substitute(other->name, Variable::make(Halide::Int(32), one->name), other->body);
    Stmt joined =
        For::make(one->name, one->min, one->extent, one->for_type, one->partition_policy, one->device_api, Block::make(one->body, reading));
    for (auto name = after.names.rbegin(); name != after.names.rend(); ++name)
        joined = LetStmt::make(name->first, name->second, joined);
    std::vector<Stmt> all = without.taken;
    all.push_back(joined);
    return Block::make(ReplaceLoop(one, Block::make(all)).mutate(op->first), rest);
}

} // namespace attune::schedules
