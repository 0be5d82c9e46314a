#include "dsl/words.h"

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr const char *words_marker = "attune.words";

class LowerWords : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Call *op) override {
        if (op->name != words_marker) return IRMutator::visit(op);
        const Load *load = op->args[0].as<Load>();
        const Ramp *ramp = load ? load->index.as<Ramp>() : nullptr;
        if (!ramp || !is_const_one(ramp->stride) || load->type.bits() != 16)
            throw Halide::CompileError("attune: words are asked for of what isn't a vector of 16-bit elements side by side");
        const int lanes = 2 * load->type.lanes();
        const Expr elements = Load::make(load->type.with_lanes(lanes), load->name, Ramp::make(mutate(ramp->base), ramp->stride, lanes),
                                         load->image, load->param, const_true(lanes), ModulusRemainder());
        return Reinterpret::make(op->type, elements);
    }
};

} // namespace

Expr words_from(const Expr &first) { return Call::make(Halide::UInt(32), words_marker, {first}, Call::PureExtern); }

void lower_words(Halide::Pipeline pipeline) { pipeline.add_custom_lowering_pass(new LowerWords); }

} // namespace attune::dsl
