#include "schedules/reduction_loop.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

class FindLoops : public IRVisitor {
public:
    explicit FindLoops(const std::string &prefix) : prefix(prefix) {}
    OutermostLoops found;

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
        found.count++, found.loop = op, found.names = around, found.allocated = memory;
    }
};

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

} // namespace

OutermostLoops outermost_loops(const Stmt &s, const std::string &prefix) {
    FindLoops find(prefix);
    s.accept(&find);
    return find.found;
}

Stmt with_loop_replaced(const Stmt &s, const For *loop, const Stmt &by) { return ReplaceLoop(loop, by).mutate(s); }

std::optional<ReductionLoop> take_reduction_loop(const Stmt &s, const std::string &prefix, const std::string &reduced,
                                                 const std::string &before) {
    const OutermostLoops found = outermost_loops(s, prefix);
    if (found.count != 1) return std::nullopt;
    if (found.allocated.count(reduced) > 0)
        throw Halide::CompileError("attune: " + reduced + " has no memory yet where " + before + " is, which it is to be joined with");
    ReplaceLoop without(found.loop, Evaluate::make(0), reduced);
    const Stmt rest = without.mutate(s);
    if (without.taken.empty())
        throw Halide::CompileError("attune: nothing begins " + reduced + " before " + found.loop->name + ", which is to be joined");
    return ReductionLoop{found.loop, found.names, without.taken, rest};
}

} // namespace attune::schedules
