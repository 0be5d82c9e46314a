#include "schedules/lowered/outermost_loops.h"

namespace attune::schedules {

using namespace Halide::Internal;

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

class ReplaceLoop : public IRMutator {
public:
    ReplaceLoop(const For *loop, const Stmt &by) : loop(loop), by(by) {}

private:
    using IRMutator::visit;
    const For *const loop;
    const Stmt by;

    Stmt visit(const IfThenElse *op) override { return op; }
    Stmt visit(const For *op) override { return op == loop ? by : op; }
};

} // namespace

OutermostLoops outermost_loops(const Stmt &s, const std::string &prefix) {
    FindLoops find(prefix);
    s.accept(&find);
    return find.found;
}

Stmt with_loop_replaced(const Stmt &s, const For *loop, const Stmt &by) { return ReplaceLoop(loop, by).mutate(s); }

} // namespace attune::schedules
