// The passes over lowered code that the schedules of kernels for GPUs alone count on; of all others see schedules/passes.h.
#pragma once

#include <set>
#include <string>

#include <Halide.h>

namespace attune::schedules::cuda {

/** Adds those of attention in fragments, for tensor cores, in the order that they need. */
void add_fragment_passes(Halide::Pipeline pipeline);

/** Adds those of softmax whose rows are held in registers, before those of add_passes(). `buffers`: the names of those that are read and
 * written by whole vectors. */
void add_held_softmax_passes(Halide::Pipeline pipeline, const std::set<std::string> &buffers);

} // namespace attune::schedules::cuda
