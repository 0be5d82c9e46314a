#include "dsl/side_output.h"

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::Func;

namespace {

constexpr const char *side_output_marker = "attune.also_stored"; // (value, number, condition, at...)

Expr of_buffer(const Func &output, const char *field, Halide::Type type, std::vector<Expr> arguments = {}) {
    arguments.insert(arguments.begin(), Variable::make(Halide::type_of<halide_buffer_t *>(), output.name() + ".buffer"));
    return Call::make(type, field, arguments, Call::Extern);
}

// Where the element of `output` at `at` lies: one index of that type for each lane, where these are vectors.
Expr index_of(const Func &output, const std::vector<Expr> &at, Halide::Type type) {
    Expr index = make_zero(type);
    for (int i = 0; i < int(at.size()); i++) {
        const auto field = [&](const char *name) {
            const Expr value = cast(type.element_of(), of_buffer(output, name, Halide::Int(32), {i}));
            return type.is_vector() ? Broadcast::make(value, type.lanes()) : value;
        };
        const Expr steps = cast(type, at[i]) - field(Call::buffer_get_min);
        index += i == 0 ? steps : steps * field(Call::buffer_get_stride);
    }
    return simplify(index);
}

class LowerSideOutputs : public IRMutator {
public:
    explicit LowerSideOutputs(const std::vector<Func> &outputs) : outputs_(outputs) {}

private:
    using IRMutator::visit;
    const std::vector<Func> outputs_;

    Expr visit(const Call *op) override {
        if (op->name == side_output_marker)
            throw Halide::CompileError("attune: what is also stored elsewhere is part of a larger expression");
        return IRMutator::visit(op);
    }

    Stmt visit(const Store *op) override {
        const Call *mark = op->value.as<Call>();
        if (!mark || mark->name != side_output_marker) return IRMutator::visit(op);
        const Broadcast *broadcast = mark->args[1].as<Broadcast>();
        const Func &output = outputs_.at(*as_const_int(broadcast ? broadcast->value : mark->args[1]));
        const Expr value = cast(output.types().front().with_lanes(op->value.type().lanes()), mark->args[0]);
        const Expr condition = simplify(mark->args[2] != make_zero(mark->args[2].type()) && op->predicate);
        const Expr index = index_of(output, {mark->args.begin() + 3, mark->args.end()}, op->index.type());
        Stmt side = Store::make(output.name(), value, index, Halide::Parameter(), condition, ModulusRemainder());
        side = LetStmt::make(output.name(), of_buffer(output, Call::buffer_get_host, Halide::Handle()), side);
        return Block::make(Store::make(op->name, mark->args[0], op->index, op->param, op->predicate, op->alignment), side);
    }
};

} // namespace

Expr also_stored(const Expr &value, int number, const Expr &condition, const std::vector<Expr> &at) {
    std::vector<Expr> arguments = {value, number, Halide::select(condition, 1, 0)};
    arguments.insert(arguments.end(), at.begin(), at.end());
    return Call::make(value.type(), side_output_marker, arguments, Call::PureExtern);
}

void lower_side_outputs(Halide::Pipeline pipeline, const std::vector<Func> &outputs) {
    pipeline.add_custom_lowering_pass(new LowerSideOutputs(outputs));
}

} // namespace attune::dsl
