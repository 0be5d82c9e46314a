#include "schedules/reduce_stores.h"

#include <vector>

#include "schedules/uses.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// Whether a statement stores to a buffer, or allocates it.
class FindBuffer : public IRVisitor {
public:
    explicit FindBuffer(const std::string &buffer) : buffer(buffer) {}
    bool is_stored = false, is_allocated = false;

private:
    using IRVisitor::visit;
    const std::string &buffer;

    void visit(const Store *op) override { is_stored = is_stored || op->name == buffer; }
    void visit(const Allocate *op) override {
        is_allocated = is_allocated || op->name == buffer;
        IRVisitor::visit(op);
    }
};

FindBuffer buffer_in(const Stmt &s, const std::string &buffer) {
    FindBuffer find(buffer);
    s.accept(&find);
    return find;
}

// One vector of a buffer, whichever that is, by this name.
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

// Takes the loops of a reduction out of a statement, and what it begins with.
class TakeReduction : public IRMutator {
public:
    TakeReduction(const std::string &loops, const std::string &reduced, const std::string &stored, const std::string &vector)
        : loops(loops), reduced(reduced), stored(stored), vector(vector) {}
    std::vector<Stmt> begin;
    Stmt update; // a store, of what becomes of `vector`
    Halide::Type type;

private:
    using IRMutator::visit;
    const std::string &loops, &reduced, &stored, &vector;
    std::vector<std::string> around; // its loops
    Values names;                    // bound in them

    Stmt visit(const For *op) override {
        if (!starts_with(op->name, loops)) return op; // what another's store is no beginning
        around.push_back(op->name);
        mutate(op->body);
        around.pop_back();
        return Evaluate::make(0);
    }
    Stmt visit(const LetStmt *op) override {
        if (around.empty()) return IRMutator::visit(op);
        names.emplace_back(op->name, op->value);
        mutate(op->body);
        names.pop_back();
        return op;
    }
    Stmt visit(const Store *op) override {
        if (op->name != reduced) return op;
        if (around.empty()) {
            begin.emplace_back(op);
            return Evaluate::make(0);
        }
        NameLoads named(stored, vector);
        const Stmt one =
            Store::make(op->name, named.mutate(substituted(names, op->value)), op->index, op->param, op->predicate, op->alignment);
        for (const std::string &name : around)
            if (stmt_uses_var(one, name))
                throw Halide::CompileError("attune: what " + reduced + " makes of a vector of " + stored + " depends on " + name);
        if (update.defined() && !equal(update, one))
            throw Halide::CompileError("attune: " + reduced + " makes now one thing and now another of a vector of " + stored);
        update = one, type = named.type;
        return op;
    }
};

// Lets an update follow each store to a buffer.
class Follow : public IRMutator {
public:
    Follow(const std::string &stored, const Halide::Type &type, const std::string &vector, const Store *update)
        : stored(stored), type(type), vector(vector), update(update) {}

private:
    using IRMutator::visit;
    const std::string &stored;
    const Halide::Type type;
    const std::string &vector;
    const Store *update;

    Stmt visit(const Store *op) override {
        if (op->name != stored) return IRMutator::visit(op);
        if (op->value.type() != type || !is_const_one(op->predicate))
            throw Halide::CompileError("attune: " + stored + " isn't stored in whole vectors of those that " + update->name + " takes");
        const Expr value = Variable::make(type, vector);
        const Stmt store = Store::make(op->name, value, op->index, op->param, op->predicate, op->alignment);
        return LetStmt::make(vector, op->value, Block::make(store, update));
    }
};

} // namespace

Stmt ReduceStores::visit(const Block *op) {
    const std::string vector = stored + ".vector";
    if (!buffer_in(op->first, stored).is_stored) return IRMutator::visit(op);
    TakeReduction take(loops, reduced, stored, vector);
    const Stmt rest = take.mutate(op->rest);
    if (!take.update.defined()) return IRMutator::visit(op);
    if (take.begin.empty()) throw Halide::CompileError("attune: nothing begins " + reduced + " before its loops, which are to go");
    if (buffer_in(op->rest, reduced).is_allocated)
        throw Halide::CompileError("attune: " + reduced + " has no memory yet where " + stored + " is stored, from which it is to be made");
    std::vector<Stmt> all = take.begin;
    all.push_back(Follow(stored, take.type, vector, take.update.as<Store>()).mutate(op->first));
    all.push_back(rest);
    return Block::make(all);
}

} // namespace attune::schedules
