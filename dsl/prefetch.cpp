#include "dsl/prefetch.h"

#include <vector>

#include "dsl/loading.h"
#include "dsl/one_lane.h"

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr const char *prefetch_marker = "attune.prefetch", *prefetch_at_marker = "attune.prefetch_at";
constexpr const char *prefetch_function = "llvm.prefetch.p0";

int locality_of(Nearness nearness) { return nearness == Nearness::first_level ? 3 : 2; } // LLVM's

Expr first_index(const Load &load) {
    const Ramp *ramp = load.index.as<Ramp>();
    return ramp ? ramp->base : load.type.is_vector() ? Shuffle::make_extract_element(load.index, 0) : load.index;
}

// For a read. Halide finds the declaration of LLVM's function in its own runtime, which takes the locality as a constant.
Stmt fetch(const Expr &address, const Expr &locality) {
    const int read = 0, data = 1;
    return Evaluate::make(Call::make(Halide::Int(32), prefetch_function,
                                     {Halide::reinterpret(Halide::Handle(), address), read, locality, data}, Call::Extern));
}

// The addresses that a marker asks for.
std::vector<Expr> addresses(const Call &marker) {
    if (marker.name == prefetch_at_marker) return {one_lane(marker.args[1])};
    const Load &load = load_of(marker.args[1], "a prefetch was asked for");
    const Expr index = first_index(load);
    std::vector<Expr> all;
    auto add = [&](const Expr &i) { all.push_back(address_at(load.name, i, load.type.bytes())); };
    add(index);
    if (load.index.as<Ramp>() && is_const_one(load.index.as<Ramp>()->stride)) // the other lines of a wide vector
        for (int line = 1; line * bytes_per_line < load.type.bytes() * load.type.lanes(); line++)
            add(index + Halide::cast(index.type(), line * bytes_per_line / load.type.bytes()));
    for (std::size_t i = 4; i < marker.args.size(); i++)
        if (const Expr beside = simplify(one_lane(marker.args[i])); !is_const_zero(beside)) add(index + Halide::cast(index.type(), beside));
    return all;
}

// Puts the prefetches of a stored value before the store.
class LowerPrefetches : public IRMutator {
    using IRMutator::visit;
    std::vector<Stmt> fetches_;

    void ask(const Call &marker) {
        const std::vector<Expr> all = addresses(marker);
        const auto with = [&](const Expr &locality) {
            std::vector<Stmt> requests;
            for (const Expr &address : all)
                requests.push_back(fetch(address, locality));
            return Block::make(requests);
        };
        const int near = locality_of(Nearness::first_level), far = locality_of(Nearness::second_level);
        const Expr locality = simplify(one_lane(marker.args[3]));
        fetches_.push_back(is_const(locality) ? with(locality) : IfThenElse::make(locality == near, with(near), with(far)));
    }

    Expr visit(const Call *op) override {
        if (op->name != prefetch_marker && op->name != prefetch_at_marker) return IRMutator::visit(op);
        if (!is_const_zero(simplify(op->args[2]))) ask(*op);
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

Expr with_prefetch(const Expr &now, const Expr &later, const Expr &wanted, Nearness nearness, const std::vector<Expr> &beside) {
    std::vector<Expr> args = {now, later, Halide::select(wanted, 1, 0), locality_of(nearness)};
    args.insert(args.end(), beside.begin(), beside.end());
    return Call::make(now.type(), prefetch_marker, args, Call::PureExtern);
}

Expr with_prefetch_near_where(const Expr &near, const Expr &now, const Expr &later) {
    const Expr locality = Halide::select(near, locality_of(Nearness::first_level), locality_of(Nearness::second_level));
    return Call::make(now.type(), prefetch_marker, {now, later, 1, locality}, Call::PureExtern);
}

Expr with_prefetch_at(const Expr &now, const Expr &address, const Expr &wanted, Nearness nearness) {
    return Call::make(now.type(), prefetch_at_marker, {now, address, Halide::select(wanted, 1, 0), locality_of(nearness)},
                      Call::PureExtern);
}

Stmt prefetch(const std::string &buffer, const Expr &index, int element_bytes, Nearness nearness) {
    return fetch(address_at(buffer, index, element_bytes), locality_of(nearness));
}

Expr asked_address(const Evaluate *statement) {
    const Call *call = statement->value.as<Call>();
    if (!call || call->name != prefetch_function) return Expr();
    const Reinterpret *pointer = call->args[0].as<Reinterpret>();
    return pointer ? pointer->value : Expr();
}

Stmt ask_elsewhere(const Evaluate *statement, const Expr &address) { return fetch(address, statement->value.as<Call>()->args[2]); }

void lower_prefetches(Halide::Pipeline pipeline) { pipeline.add_custom_lowering_pass(new LowerPrefetches); }

} // namespace attune::dsl
