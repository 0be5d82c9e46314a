#include "schedules/lowered/register_arrays.h"

namespace attune::schedules {

using namespace Halide::Internal;

Stmt RegisterArrays::visit(const Allocate *op) {
    if (op->memory_type != Halide::MemoryType::Register) return IRMutator::visit(op);
    const int lanes = 4;                                                      // any number but 1: the type of a vector is no other array's
    const int vectors = (op->constant_allocation_size() + lanes - 1) / lanes; // Halide has refused what has no constant size
    return Allocate::make(op->name, op->type.with_lanes(lanes), op->memory_type, {vectors}, op->condition, mutate(op->body));
}

} // namespace attune::schedules
