#include "schedules/lowered/accesses.h"

#include <sstream>

#include "schedules/lowered/uses.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

class FindFirst : public IRVisitor {
public:
    FindFirst(const std::string &stored, const std::string &loaded) : stored(stored), loaded(loaded) {}
    FirstAccesses found;

private:
    using IRVisitor::visit;
    const std::string &stored, &loaded;
    Values values;

    template <typename Op> void within(const Op *op, const Expr &value) {
        value.accept(this);
        values.emplace_back(op->name, value);
        op->body.accept(this);
        values.pop_back();
    }
    void visit(const Let *op) override { within(op, op->value); }
    void visit(const LetStmt *op) override { within(op, op->value); }
    void visit(const For *op) override { within(op, op->min); }
    Expr first_of(const Expr &index) const {
        const Ramp *ramp = index.as<Ramp>();
        return substituted(values, ramp ? ramp->base : index);
    }
    void visit(const Store *op) override {
        IRVisitor::visit(op);
        if (!found.store.defined() && op->name == stored) found.store = first_of(op->index), found.type = op->value.type().element_of();
    }
    void visit(const Load *op) override {
        IRVisitor::visit(op);
        if (!found.load.defined() && op->name == loaded && (op->type.is_scalar() || op->index.as<Ramp>())) found.load = first_of(op->index);
    }
};

class StoringPasses : public IRVisitor {
public:
    explicit StoringPasses(const For *loop) : loop(loop), passes(loop->extent) { loop->body.accept(this); }
    Expr count() const { return max(0, passes); }

private:
    using IRVisitor::visit;
    const For *const loop;
    Expr passes;
    bool in_row = false; // where conditions leave out parts of a row
    Values values;

    void visit(const LetStmt *op) override {
        values.emplace_back(op->name, op->value);
        op->body.accept(this);
        values.pop_back();
    }
    void visit(const Block *op) override {
        in_row = true;
        IRVisitor::visit(op);
    }
    void visit(const For *op) override {
        in_row = true;
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        const Expr condition = simplify(remove_likelies(substituted(values, op->condition)));
        const bool of_rows = expr_uses_var(condition, loop->name);
        if (of_rows)
            passes = min(passes, passes_below(condition));
        else if (!in_row)
            passes = select(condition, passes, 0);
        IRVisitor::visit(op);
    }
    Expr passes_below(const Expr &condition) const {
        const LT *below = condition.as<LT>();
        const Expr left = below ? below->b - below->a : Expr(), next = Variable::make(Halide::Int(32), loop->name) + 1;
        if (in_row || !below || !is_const(simplify(substitute(loop->name, next, left) - left), -1)) {
            std::ostringstream text;
            text << condition;
            throw Halide::CompileError("attune: which rows are stored together can't be told from " + text.str());
        }
        return substitute(loop->name, loop->min, left);
    }
};

// Whether a condition leaves out a vector's last lanes.
bool leaves_out_last(const Expr &condition) {
    const LT *below = condition.as<LT>();
    const Ramp *lanes = below ? below->a.as<Ramp>() : nullptr;
    return lanes && is_const_one(lanes->stride) && below->b.as<Broadcast>();
}

class Redirect : public IRMutator {
public:
    Redirect(const std::string &func, const std::string &to, const Expr &down) : func(func), to(to), down(down) {}

private:
    using IRMutator::visit;
    const std::string &func, &to;
    const Expr down;

    Stmt visit(const Store *op) override {
        if (op->name != func) return IRMutator::visit(op);
        const Ramp *ramp = op->index.as<Ramp>();
        if (!ramp && !op->index.type().is_scalar())
            throw Halide::CompileError("attune: a store that is to go elsewhere isn't of elements side by side");
        const Expr index = ramp ? Ramp::make(ramp->base - down, ramp->stride, ramp->lanes) : op->index - down;
        const Halide::Type type = op->value.type();
        const bool goes_whole = leaves_out_last(op->predicate) && type.bytes() * type.lanes() <= most_bytes_whole;
        return Store::make(to, op->value, index, Halide::Parameter(), goes_whole ? const_true(type.lanes()) : op->predicate,
                           ModulusRemainder());
    }
};

} // namespace

FirstAccesses first_accesses(const Stmt &s, const std::string &stored, const std::string &loaded) {
    FindFirst first(stored, loaded);
    s.accept(&first);
    return first.found;
}

Expr storing_passes(const For *loop) { return StoringPasses(loop).count(); }

Stmt redirected(const Stmt &s, const std::string &from, const std::string &to, const Expr &down) {
    return Redirect(from, to, down).mutate(s);
}

} // namespace attune::schedules
