#include "schedules/lowered/ask_for_stores.h"

#include "dsl/prefetch.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Expr;

Stmt AskForStores::visit(const Store *op) {
    const Ramp *vector = op->index.as<Ramp>();
    if (op->name != output || !vector) return IRMutator::visit(op);
    const Expr index = cast<int64_t>(vector->base) + cast<int64_t>(Variable::make(Halide::Int(32), stride)) * ahead;
    return Block::make(dsl::prefetch(output, index, op->value.type().bytes(), dsl::Nearness::first_level), op);
}

} // namespace attune::schedules
