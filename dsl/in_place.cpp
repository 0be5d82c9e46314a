#include "dsl/in_place.h"

#include "dsl/loading.h"
#include "dsl/one_lane.h"

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr const char *address_marker = "attune.address", *in_place_marker = "attune.in_place";

class LowerInPlace : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Call *op) override {
        if (op->name == address_marker) {
            const Expr loading = mutate(op->args[0]);
            const Load &load = load_of(loading, "an address was asked for");
            return address_at(load.name, load.index, load.type.bytes());
        }
        if (op->name != in_place_marker) return IRMutator::visit(op);
        const Expr copied = mutate(op->args[0]), origin = one_lane(mutate(op->args[1]));
        // By the copy's own name, so that the compiler keeps loads after the stores of what is copied; aligned as elements are,
        // if that: words of 16-bit numbers need not be, which x86 doesn't mind.
        const Load &load = load_of(copied, "a copy was to be read");
        const Expr element = op->args.size() > 2 ? mutate(op->args[2]) : load.index;
        const Expr read = Load::make(load.type, load.name, element, load.image, load.param, load.predicate, ModulusRemainder());
        return Let::make(load.name, Halide::reinterpret(Halide::Handle(), origin), read);
    }
};

} // namespace

Expr address_of(const Expr &loading) { return Call::make(Halide::UInt(64), address_marker, {loading}, Call::PureExtern); }

Expr read_in_place(const Expr &copied, const Expr &origin, const Expr &element) {
    std::vector<Expr> args = {copied, origin};
    if (element.defined()) args.push_back(element);
    return Call::make(copied.type(), in_place_marker, args, Call::PureExtern);
}

void lower_in_place(Halide::Pipeline pipeline) { pipeline.add_custom_lowering_pass(new LowerInPlace); }

} // namespace attune::dsl
