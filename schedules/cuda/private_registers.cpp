#include "schedules/cuda/private_registers.h"

#include <sstream>
#include <vector>

namespace attune::schedules::cuda {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// Replaces names by what they are bound to, and that likewise.
class Expanded : public IRMutator {
public:
    explicit Expanded(const std::map<std::string, Expr> &values) : values(values) {}

private:
    using IRMutator::visit;
    const std::map<std::string, Expr> &values;

    Expr visit(const Variable *op) override {
        const auto value = values.find(op->name);
        return value == values.end() ? Expr(op) : mutate(value->second);
    }
};

Expr lane_of(const Expr &vector, int lane) { return vector.type().is_scalar() ? vector : Shuffle::make_extract_element(vector, lane); }

[[noreturn]] void refuse(const std::string &array, const Expr &index) {
    std::ostringstream sentence;
    sentence << "attune: register array \"" << array << "\" has the index " << index
             << ", which isn't constant for a thread; loops over its elements must be unrolled";
    throw Halide::CompileError(sentence.str().c_str());
}

} // namespace

// The number, among a thread's elements of the array, of the one at `index`.
Expr PrivateRegisters::slot(const std::string &array, const Expr &index, int lane) {
    const Expr expanded = simplify(lane_of(Expanded(values).mutate(index), lane));
    const auto constant = as_const_int(expanded);
    if (!constant) refuse(array, expanded);
    Slots &slots = arrays.at(array);
    return slots.emplace(*constant, static_cast<int>(slots.size())).first->second;
}

Stmt PrivateRegisters::visit(const For *op) {
    const bool thread = op->for_type == ForType::GPUThread || op->for_type == ForType::GPULane;
    ScopedValue<bool> block(in_block, in_block || op->for_type == ForType::GPUBlock), within(in_thread, in_thread || thread);
    if (thread) values[op->name] = 0;
    Stmt changed = IRMutator::visit(op);
    if (thread) values.erase(op->name);
    return changed;
}

// Names are unique in lowered code, so that what goes out of scope does no harm.
Stmt PrivateRegisters::visit(const LetStmt *op) {
    if (in_block) values[op->name] = op->value;
    return IRMutator::visit(op);
}

Expr PrivateRegisters::visit(const Let *op) {
    if (in_block) values[op->name] = op->value;
    return IRMutator::visit(op);
}

Stmt PrivateRegisters::visit(const Allocate *op) {
    if (!in_block || in_thread || op->memory_type != Halide::MemoryType::Register) return IRMutator::visit(op);
    arrays[op->name];
    const Stmt body = mutate(op->body);
    const int elements = static_cast<int>(arrays[op->name].size());
    arrays.erase(op->name);
    return Allocate::make(op->name, op->type, op->memory_type, {elements}, op->condition, body);
}

Expr PrivateRegisters::visit(const Load *op) {
    if (!arrays.count(op->name)) return IRMutator::visit(op);
    std::vector<Expr> lanes;
    for (int lane = 0; lane < op->type.lanes(); lane++)
        lanes.push_back(
            Load::make(op->type.element_of(), op->name, slot(op->name, op->index, lane), op->image, op->param, const_true(), {}));
    return lanes.size() == 1 ? lanes[0] : Shuffle::make_concat(lanes);
}

Stmt PrivateRegisters::visit(const Store *op) {
    if (!arrays.count(op->name)) return IRMutator::visit(op);
    const Expr value = mutate(op->value);
    std::vector<Stmt> lanes;
    for (int lane = 0; lane < value.type().lanes(); lane++)
        lanes.push_back(Store::make(op->name, lane_of(value, lane), slot(op->name, op->index, lane), op->param, const_true(), {}));
    return Block::make(lanes);
}

} // namespace attune::schedules::cuda
