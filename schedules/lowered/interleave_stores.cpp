#include "schedules/lowered/interleave_stores.h"

#include <map>
#include <string>

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// Sums of places, widened to 64 bits term by term, as none is so large that it overflows: what two have in common shows then.
class SumsOfWide : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Cast *op) override {
        if (op->type != Halide::Int(64) || op->value.type() != Halide::Int(32)) return IRMutator::visit(op);
        const auto wide = [&](const Expr &e) { return mutate(Cast::make(op->type, e)); };
        if (const Add *sum = op->value.as<Add>()) return wide(sum->a) + wide(sum->b);
        if (const Mul *product = op->value.as<Mul>()) return wide(product->a) * wide(product->b);
        return IRMutator::visit(op);
    }
};

// A store to every second place, with the names bound around it, which are its own.
struct EverySecond {
    const Store *store = nullptr; // nullptr if it is none
    Values names;
    Expr first, value, predicate;

    explicit EverySecond(Stmt s) {
        std::map<std::string, Expr> renamed;
        for (const LetStmt *let = s.as<LetStmt>(); let; let = s.as<LetStmt>()) {
            names.emplace_back(unique_name(let->name), substitute(renamed, let->value));
            renamed[let->name] = Variable::make(let->value.type(), names.back().first);
            s = let->body;
        }
        const Store *op = s.as<Store>();
        const Ramp *ramp = op ? op->index.as<Ramp>() : nullptr;
        if (!ramp || !is_const(ramp->stride, 2) || !ramp->base.type().is_scalar()) return;
        store = op, first = substitute(renamed, ramp->base);
        value = substitute(renamed, op->value), predicate = substitute(renamed, op->predicate);
    }
    Expr without_names(const Expr &e) const { return substituted(names, e); }
};

class LoadsFrom : public IRVisitor {
public:
    explicit LoadsFrom(const std::set<std::string> &own) : own(own) {}
    bool others = false;

private:
    using IRVisitor::visit;
    const std::set<std::string> &own;

    void visit(const Load *op) override {
        others = others || own.count(op->name) == 0;
        IRVisitor::visit(op);
    }
};

} // namespace

Stmt InterleaveStores::joined(const Stmt &one, const Stmt &other) const {
    const EverySecond a(one), b(other);
    if (!a.store || !b.store || a.store->name != b.store->name || a.value.type() != b.value.type()) return {};
    if (!equal(a.without_names(a.predicate), b.without_names(b.predicate))) return {};
    const Expr apart = simplify(SumsOfWide().mutate(substituted(names, b.without_names(b.first) - a.without_names(a.first))));
    const bool in_order = is_const(apart, 1);
    if (!in_order && !is_const(apart, -1)) return {};
    LoadsFrom loads(own);
    other.accept(&loads);
    if (loads.others) return {};
    const EverySecond &first = in_order ? a : b, &second = in_order ? b : a;
    const int lanes = 2 * a.value.type().lanes();
    const Expr predicate = is_const_one(a.predicate) ? const_true(lanes) : Shuffle::make_interleave({first.predicate, first.predicate});
    Stmt all = Store::make(a.store->name, Shuffle::make_interleave({first.value, second.value}),
                           Ramp::make(first.first, make_one(first.first.type()), lanes), a.store->param, predicate, ModulusRemainder());
    for (const EverySecond *store : {&b, &a})
        for (auto name = store->names.rbegin(); name != store->names.rend(); ++name)
            all = LetStmt::make(name->first, name->second, all);
    return all;
}

Stmt InterleaveStores::visit(const Allocate *op) {
    const bool is_new = own.insert(op->name).second;
    Stmt s = IRMutator::visit(op);
    if (is_new) own.erase(op->name);
    return s;
}

Stmt InterleaveStores::visit(const LetStmt *op) {
    names.emplace_back(op->name, op->value);
    Stmt s = IRMutator::visit(op);
    names.pop_back();
    return s;
}

Stmt InterleaveStores::visit(const Block *op) {
    const Block *rest = op->rest.as<Block>();
    const Stmt one = joined(op->first, rest ? rest->first : op->rest);
    if (!one.defined()) return IRMutator::visit(op);
    return rest ? Block::make(one, mutate(rest->rest)) : one;
}

} // namespace attune::schedules
