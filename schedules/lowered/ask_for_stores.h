// A pass over lowered code that Halide lacks.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::schedules {

/** Asks, beside each store of a vector to an output, for the memory of the element that lies `ahead` further along one of its axes: a store
 * to a line that no cache has waits for memory, and once enough of them wait, so does all else.
 *
 * Add it by Pipeline::add_custom_lowering_pass. What is asked for may lie outside of the output, which does no harm. */
class AskForStores : public Halide::Internal::IRMutator {
public:
    AskForStores(const Halide::Func &output, int axis, int ahead)
        : output(output.name()), stride(output.name() + ".stride." + std::to_string(axis)), ahead(ahead) {}

protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Store *op) override;

private:
    const std::string output, stride;
    const int ahead;
};

} // namespace attune::schedules
