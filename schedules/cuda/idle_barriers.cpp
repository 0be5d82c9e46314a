#include "schedules/cuda/idle_barriers.h"

namespace attune::schedules::cuda {

using namespace Halide::Internal;

namespace {

class FindAccesses : public IRVisitor {
public:
    FindAccesses(const std::set<std::string> &shared, const std::set<std::string> &own) : shared(shared), own(own) {}
    bool reads_shared = false, writes_shared = false, writes_device = false;

private:
    using IRVisitor::visit;
    const std::set<std::string> &shared, &own;

    void visit(const Load *op) override {
        reads_shared = reads_shared || shared.count(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        writes_shared = writes_shared || shared.count(op->name);
        writes_device = writes_device || !(shared.count(op->name) || own.count(op->name));
        IRVisitor::visit(op);
    }
};

bool is_barrier_without_shared_memory(const Stmt &stmt) {
    const Evaluate *evaluate = stmt.as<Evaluate>();
    const Call *call = evaluate ? evaluate->value.as<Call>() : nullptr;
    const auto mask = call && call->is_intrinsic(Call::gpu_thread_barrier) ? as_const_int(call->args[0]) : std::nullopt;
    return mask && (*mask & CodeGen_GPU_Dev::MemoryFenceType::Shared) == 0;
}

} // namespace

Stmt IdleBarriers::visit(const For *op) {
    if (op->for_type == ForType::GPUBlock) shared_was_read = device_was_written = false;
    // What is after a barrier may be before it, too, in an earlier turn; and after it in a later one what is before.
    if (op->for_type == ForType::Serial) note(op->body);
    const bool later_turn = op->for_type == ForType::Serial && writes_shared(op->body);
    ScopedValue<bool> later(shared_is_written, op->for_type != ForType::GPUBlock && (shared_is_written || later_turn));
    return IRMutator::visit(op);
}

Stmt IdleBarriers::visit(const Allocate *op) {
    (op->memory_type == Halide::MemoryType::GPUShared ? shared : own).insert(op->name);
    return IRMutator::visit(op);
}

Stmt IdleBarriers::visit(const Block *op) {
    Stmt first;
    bool idle;
    {
        ScopedValue<bool> later(shared_is_written, shared_is_written || writes_shared(op->rest));
        first = mutate(op->first);
        note(op->first);
        idle = is_barrier_without_shared_memory(op->first) && !device_was_written && !(shared_was_read && shared_is_written);
    }
    const Stmt rest = mutate(op->rest);
    return idle ? rest : Block::make(first, rest);
}

void IdleBarriers::note(const Stmt &passed) {
    FindAccesses found(shared, own);
    passed.accept(&found);
    shared_was_read = shared_was_read || found.reads_shared;
    device_was_written = device_was_written || found.writes_device;
}

bool IdleBarriers::writes_shared(const Stmt &next) const {
    FindAccesses found(shared, own);
    next.accept(&found);
    return found.writes_shared;
}

} // namespace attune::schedules::cuda
