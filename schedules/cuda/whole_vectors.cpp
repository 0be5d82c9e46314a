#include "schedules/cuda/whole_vectors.h"

namespace attune::schedules::cuda {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

const Halide::Type whole = Halide::UInt(8 * vector_bytes);

} // namespace

Expr WholeVectors::vector_at(const std::string &buffer, const Expr &index, const Halide::Type &type) const {
    const Ramp *ramp = index.as<Ramp>();
    if (!buffers.count(buffer) || !ramp || !is_const_one(ramp->stride) || type.bits() * type.lanes() != whole.bits()) return {};
    return ramp->base / type.lanes();
}

Expr WholeVectors::visit(const Load *op) {
    const Expr vector = vector_at(op->name, op->index, op->type);
    if (!vector.defined() || !is_const_one(op->predicate)) return IRMutator::visit(op);
    return Reinterpret::make(op->type, Load::make(whole, op->name, mutate(vector), op->image, op->param, const_true(), {}));
}

Stmt WholeVectors::visit(const Store *op) {
    const Expr vector = vector_at(op->name, op->index, op->value.type());
    if (!vector.defined() || !is_const_one(op->predicate)) return IRMutator::visit(op);
    return Store::make(op->name, Reinterpret::make(whole, mutate(op->value)), mutate(vector), op->param, const_true(), {});
}

} // namespace attune::schedules::cuda
