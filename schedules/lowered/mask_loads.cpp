#include "schedules/lowered/mask_loads.h"

#include "schedules/lowered/stride.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Expr;

namespace {

// What a name of a vector stands for, or the expression itself.
Expr unnamed(const Scope<Expr> &vectors, const Expr &e) {
    const Variable *name = e.as<Variable>();
    const Expr *value = name ? vectors.find(name->name) : nullptr;
    return value ? unnamed(vectors, *value) : e;
}

// Whole numbers below a limit.
struct Neighbours {
    const Ramp *numbers = nullptr;
    Expr limit;

    explicit Neighbours(const Expr &condition) {
        const LT *below = condition.as<LT>();
        const Broadcast *end = below ? below->b.as<Broadcast>() : nullptr;
        const Ramp *ramp = below ? below->a.as<Ramp>() : nullptr;
        if (!end || !ramp || !ramp->base.type().is_scalar() || !is_const_one(ramp->stride)) return;
        numbers = ramp, limit = end->value;
    }
    bool are_clamped_by(const Min *op) const {
        const Broadcast *last = op->b.as<Broadcast>();
        return last && equal(op->a, numbers) && is_const_one(simplify(limit - last->value));
    }
};

// An index of one lane, by the name of its number where a vector has a lane's clamped.
class OneLane : public IRMutator {
public:
    OneLane(const Neighbours &neighbours, const Scope<Expr> &vectors, const std::string &number)
        : neighbours(neighbours), vectors(vectors), number(number) {}
    bool is_known = true; // whether lanes differ in nothing else

private:
    using IRMutator::visit;
    const Neighbours &neighbours;
    const Scope<Expr> &vectors;
    const std::string &number;

    Expr unknown(const Expr &e) {
        is_known = false;
        return make_zero(e.type().element_of());
    }
    Expr visit(const Min *op) override {
        return op->type.is_vector() && neighbours.are_clamped_by(op) ? Variable::make(op->type.element_of(), number) : unknown(op);
    }
    Expr visit(const Broadcast *op) override { return op->value.type().is_scalar() ? op->value : unknown(op); }
    Expr visit(const Ramp *op) override { return unknown(op); }
    Expr visit(const Variable *op) override {
        if (op->type.is_scalar()) return op;
        const Expr value = unnamed(vectors, op);
        return value.same_as(op) ? unknown(op) : mutate(value);
    }
    Expr visit(const Load *op) override { return op->type.is_scalar() ? op : unknown(op); }
    Expr visit(const Shuffle *op) override { return unknown(op); }
    Expr visit(const Let *op) override { return unknown(op); }
    Expr visit(const Cast *op) override { return cast(op->type.element_of(), mutate(op->value)); }
    Expr visit(const Call *op) override {
        if (op->type.is_scalar()) return op;
        if (!op->is_intrinsic(Call::widen_right_add)) return unknown(op);
        const Expr wide = mutate(op->args[0]);
        return wide + cast(wide.type(), mutate(op->args[1]));
    }
};

class MaskEach : public IRMutator {
public:
    MaskEach(const Neighbours &neighbours, const Scope<Expr> &vectors, const Expr &mask, int narrowest)
        : neighbours(neighbours), vectors(vectors), mask(mask), narrowest(narrowest) {}

private:
    using IRMutator::visit;
    const Neighbours &neighbours;
    const Scope<Expr> &vectors;
    const Expr &mask;
    const int narrowest;

    Expr visit(const Load *op) override {
        const bool as_wide = op->type.lanes() == mask.type().lanes() && op->type.bits() >= narrowest;
        if (!as_wide || op->index.as<Ramp>() || !is_const_one(op->predicate)) return op;
        const std::string number = unique_name("number");
        OneLane one(neighbours, vectors, number);
        const Expr index = one.mutate(op->index);
        if (!one.is_known) return op;
        const Expr stride = stride_of(index, number);
        if (!stride.defined() || !is_const_one(simplify(stride))) return op;
        const Expr first = simplify(substitute(number, neighbours.numbers->base, index));
        return Load::make(op->type, op->name, Ramp::make(first, make_one(first.type()), op->type.lanes()), op->image, op->param, mask,
                          ModulusRemainder());
    }
};

} // namespace

Stmt MaskLoads::visit(const LetStmt *op) {
    const ScopedBinding<Expr> name(op->value.type().is_vector(), vectors, op->name, op->value);
    return IRMutator::visit(op);
}

Expr MaskLoads::visit(const Let *op) {
    const ScopedBinding<Expr> name(op->value.type().is_vector(), vectors, op->name, op->value);
    return IRMutator::visit(op);
}

Expr MaskLoads::visit(const Select *op) {
    const Neighbours neighbours(unnamed(vectors, op->condition));
    if (!neighbours.numbers || !is_const_zero(op->false_value)) return IRMutator::visit(op);
    const Expr masked = MaskEach(neighbours, vectors, op->condition, narrowest).mutate(op->true_value);
    return Select::make(op->condition, masked, op->false_value);
}

} // namespace attune::schedules
