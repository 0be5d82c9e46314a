#include "dsl/prefetch.h"

#include <vector>

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr const char *prefetch_marker = "attune.prefetch";

Expr address_of(const std::string &buffer, const Expr &index, int element_bytes) {
    Expr base = Halide::reinterpret<uint64_t>(Variable::make(Halide::Handle(), buffer));
    return Halide::reinterpret(Halide::Handle(), base + Halide::cast<uint64_t>(index) * Expr(uint64_t(element_bytes)));
}

int locality_of(Nearness nearness) { return nearness == Nearness::first_level ? 3 : 2; } // LLVM's

class FirstLoad : public IRVisitor {
public:
    const Load *load = nullptr;

private:
    using IRVisitor::visit;
    void visit(const Load *op) override {
        if (!load) load = op;
    }
};

// The address of the first element that an expression loads.
Expr address_of(const Expr &loading) {
    FirstLoad first;
    loading.accept(&first);
    if (!first.load) throw Halide::CompileError("attune: nothing is loaded where a prefetch was asked for");
    const Load &load = *first.load;
    const Ramp *ramp = load.index.as<Ramp>();
    Expr index = ramp ? ramp->base : load.type.is_vector() ? Shuffle::make_extract_element(load.index, 0) : load.index;
    return address_of(load.name, index, load.type.bytes());
}

Expr one_lane(const Expr &e) {
    const Broadcast *vector = e.as<Broadcast>();
    return vector ? vector->value : e;
}

// For a read. Halide finds the declaration of LLVM's function in its own runtime.
Stmt fetch(const Expr &address, const Expr &locality) {
    const int read = 0, data = 1;
    return Evaluate::make(Call::make(Halide::Int(32), "llvm.prefetch.p0", {address, read, locality, data}, Call::Extern));
}

// Puts the prefetches of a stored value before the store.
class LowerPrefetches : public IRMutator {
    using IRMutator::visit;
    std::vector<Stmt> fetches_;

    Expr visit(const Call *op) override {
        if (op->name != prefetch_marker) return IRMutator::visit(op);
        if (!is_const_zero(simplify(op->args[2]))) fetches_.push_back(fetch(address_of(op->args[1]), one_lane(op->args[3])));
        return mutate(op->args[0]);
    }

    Stmt visit(const Store *op) override {
        Stmt store = IRMutator::visit(op);
        fetches_.push_back(store);
        Stmt block = Block::make(fetches_);
        fetches_.clear();
        return block;
    }
};

} // namespace

Expr with_prefetch(const Expr &now, const Expr &later, const Expr &wanted, Nearness nearness) {
    return Call::make(now.type(), prefetch_marker, {now, later, Halide::select(wanted, 1, 0), locality_of(nearness)}, Call::PureExtern);
}

Stmt prefetch(const std::string &buffer, const Expr &index, int element_bytes, Nearness nearness) {
    return fetch(address_of(buffer, index, element_bytes), locality_of(nearness));
}

void lower_prefetches(Halide::Pipeline pipeline) { pipeline.add_custom_lowering_pass(new LowerPrefetches); }

} // namespace attune::dsl
