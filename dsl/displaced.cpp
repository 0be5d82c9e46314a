#include "dsl/displaced.h"

#include "dsl/one_lane.h"

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr const char *displaced_marker = "attune.displaced";

Expr further(const Expr &index, const Expr &elements) {
    if (const Ramp *ramp = index.as<Ramp>(); ramp && one_lane(elements).type().is_scalar())
        return Ramp::make(further(ramp->base, one_lane(elements)), ramp->stride, ramp->lanes);
    return simplify(Halide::cast(index.type(), Halide::cast(Halide::Int(64).with_lanes(index.type().lanes()), index) + elements));
}

// The load of an expression, further on.
class Displace : public IRMutator {
public:
    explicit Displace(Expr elements) : elements_(std::move(elements)) {}

    bool found() const { return found_; }

private:
    using IRMutator::visit;
    Expr elements_;
    bool found_ = false;

    Expr visit(const Load *op) override {
        // Halide makes several of one that strides, before it comes here.
        if (found_) throw Halide::CompileError("attune: what was to be displaced is loaded by more than one load, of " + op->name);
        found_ = true;
        return Load::make(op->type, op->name, further(op->index, elements_), op->image, op->param, op->predicate, ModulusRemainder());
    }
};

class LowerDisplaced : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Call *op) override {
        if (op->name != displaced_marker) return IRMutator::visit(op);
        Displace displace(mutate(op->args[1]));
        const Expr loading = displace.mutate(mutate(op->args[0]));
        if (!displace.found()) throw Halide::CompileError("attune: nothing is loaded of what was to be displaced");
        return loading;
    }
};

} // namespace

Expr displaced(const Expr &loading, const Expr &elements) {
    return Call::make(loading.type(), displaced_marker, {loading, Halide::cast<int64_t>(elements)}, Call::PureExtern);
}

void lower_displaced(Halide::Pipeline pipeline) { pipeline.add_custom_lowering_pass(new LowerDisplaced); }

} // namespace attune::dsl
