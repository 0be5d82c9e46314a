#include "schedules/lowered/reduction_loop.h"

#include "schedules/lowered/outermost_loops.h"

namespace attune::schedules {

using namespace Halide::Internal;

namespace {

// Takes out what a buffer is begun with, before a loop.
class TakeBeginning : public IRMutator {
public:
    TakeBeginning(const std::string &begun, const For *loop) : begun(begun), loop(loop) {}
    std::vector<Stmt> taken;

private:
    using IRMutator::visit;
    const std::string &begun;
    const For *const loop;
    bool reached = false;

    Stmt visit(const IfThenElse *op) override { return op; }
    Stmt visit(const For *op) override { // what loops store is no beginning
        reached = reached || op == loop;
        return op;
    }
    Stmt visit(const Store *op) override {
        if (op->name != begun || reached) return op;
        taken.emplace_back(op);
        return Evaluate::make(0);
    }
};

} // namespace

std::optional<ReductionLoop> take_reduction_loop(const Stmt &s, const std::string &prefix, const std::string &reduced,
                                                 const std::string &before) {
    const OutermostLoops found = outermost_loops(s, prefix);
    if (found.count != 1) return std::nullopt;
    if (found.allocated.count(reduced) > 0)
        throw Halide::CompileError("attune: " + reduced + " has no memory yet where " + before + " is, which it is to be joined with");
    TakeBeginning beginning(reduced, found.loop);
    const Stmt without = beginning.mutate(s);
    if (beginning.taken.empty())
        throw Halide::CompileError("attune: nothing begins " + reduced + " before " + found.loop->name + ", which is to be joined");
    return ReductionLoop{found.loop, found.names, beginning.taken, with_loop_replaced(without, found.loop, Evaluate::make(0))};
}

} // namespace attune::schedules
