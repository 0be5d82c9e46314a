// A pass over lowered code that takes out barriers which nothing waits for.
#pragma once

#include <set>
#include <string>

#include <Halide.h>

namespace attune::schedules::cuda {

/** Halide puts a barrier after each stage of a block, and says what memory it is for; it takes registers for memory of the device. Where
 * a block has written none of that before, and it isn't for shared memory, a barrier only keeps the next stages from overwriting shared
 * memory that is being read. Where none was read before, or none is written after, it goes.
 *
 * Add it by Pipeline::add_custom_lowering_pass, together with PrivateRegisters, which sees to it that those are each thread's own. */
class IdleBarriers : public Halide::Internal::IRMutator {
protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Block *op) override;

private:
    std::set<std::string> shared, own;                        // arrays in shared memory, and in others of a block's
    bool shared_was_read = false, device_was_written = false; // by what goes before in the block, or may
    bool shared_is_written = false;                           // by what comes after, or may

    void note(const Halide::Internal::Stmt &passed);
    bool writes_shared(const Halide::Internal::Stmt &next) const;
};

} // namespace attune::schedules::cuda
