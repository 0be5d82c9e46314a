#include "schedules/lowered/reduce_stores.h"

#include <optional>
#include <vector>

#include "schedules/lowered/reduction_loop.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// Gives what is loaded of a buffer, whichever vector that is, a name.
class NameLoads : public IRMutator {
public:
    NameLoads(const std::string &buffer, const std::string &name) : buffer(buffer), name(name) {}
    Halide::Type type; // of the vectors

private:
    using IRMutator::visit;
    const std::string &buffer, &name;

    Expr visit(const Load *op) override {
        if (op->name != buffer) return IRMutator::visit(op);
        type = op->type;
        return Variable::make(op->type, name);
    }
};

// What a reduction's loop makes of a vector of `stored`, by the name of that: a store, the same for all of them.
class FindUpdate : public IRVisitor {
public:
    FindUpdate(const ReductionLoop &reduction, const std::string &stored, const std::string &vector)
        : stored(stored), vector(vector), names(reduction.names) {
        reduction.loop->accept(this);
    }
    Stmt update;
    Halide::Type type; // of the vectors

private:
    using IRVisitor::visit;
    const std::string &stored, &vector;
    std::vector<std::string> loops; // around a statement
    Values names;                   // bound around it

    void visit(const For *op) override {
        loops.push_back(op->name);
        op->body.accept(this);
        loops.pop_back();
    }
    void visit(const LetStmt *op) override {
        names.emplace_back(op->name, op->value);
        op->body.accept(this);
        names.pop_back();
    }
    void visit(const Store *op) override {
        NameLoads named(stored, vector);
        const Expr value = named.mutate(substituted(names, op->value));
        const Stmt one = Store::make(op->name, value, op->index, op->param, op->predicate, op->alignment);
        for (const std::string &name : loops)
            if (stmt_uses_var(one, name))
                throw Halide::CompileError("attune: what " + op->name + " makes of a vector of " + stored + " depends on " + name);
        if (update.defined() && !equal(update, one))
            throw Halide::CompileError("attune: " + op->name + " makes now one thing and now another of a vector of " + stored);
        update = one, type = named.type;
    }
};

// Lets an update follow each store to a buffer.
class Follow : public IRMutator {
public:
    Follow(const std::string &stored, const std::string &vector, const FindUpdate &found) : stored(stored), vector(vector), found(found) {}

private:
    using IRMutator::visit;
    const std::string &stored, &vector;
    const FindUpdate &found;

    Stmt visit(const Store *op) override {
        if (op->name != stored) return IRMutator::visit(op);
        if (op->value.type() != found.type || !is_const_one(op->predicate))
            throw Halide::CompileError("attune: " + stored + " isn't stored in whole vectors of those that " +
                                       found.update.as<Store>()->name + " takes");
        const Expr value = Variable::make(found.type, vector);
        const Stmt store = Store::make(op->name, value, op->index, op->param, op->predicate, op->alignment);
        return LetStmt::make(vector, op->value, Block::make(store, found.update));
    }
};

} // namespace

Stmt ReduceStores::visit(const Block *op) {
    if (stored_in(op->first).count(stored) == 0) return IRMutator::visit(op);
    const std::optional<ReductionLoop> reduction = take_reduction_loop(op->rest, loops, reduced, stored);
    if (!reduction) return IRMutator::visit(op);
    const std::string vector = stored + ".vector";
    const FindUpdate found(*reduction, stored, vector);
    std::vector<Stmt> all = reduction->begin;
    all.push_back(Follow(stored, vector, found).mutate(op->first));
    all.push_back(reduction->rest);
    return Block::make(all);
}

} // namespace attune::schedules
