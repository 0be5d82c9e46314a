// A pass over lowered code that Halide lacks: 16 bytes of any type at once.
#pragma once

#include <set>
#include <string>

#include <Halide.h>

namespace attune::schedules::cuda {

/** What a thread reads and writes at once, at most. */
constexpr int vector_bytes = 16;

/** Makes single accesses of those to the buffers that are vectors of 16 bytes, side by side. Halide itself does so for 32-bit numbers whose
 * place it can prove to be a multiple of four; here it is the caller who promises that all vectors begin at multiples of 16 bytes.
 *
 * Add it by Pipeline::add_custom_lowering_pass. */
class WholeVectors : public Halide::Internal::IRMutator {
public:
    explicit WholeVectors(std::set<std::string> buffers) : buffers(std::move(buffers)) {}

protected:
    using IRMutator::visit;
    Halide::Expr visit(const Halide::Internal::Load *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Store *op) override;

private:
    std::set<std::string> buffers;

    /** The number of the vector at `index`, or none where it isn't one. */
    Halide::Expr vector_at(const std::string &buffer, const Halide::Expr &index, const Halide::Type &type) const;
};

} // namespace attune::schedules::cuda
