#include "schedules/cuda/passes.h"

#include "schedules/cuda/idle_barriers.h"
#include "schedules/cuda/join_branches.h"
#include "schedules/cuda/private_registers.h"
#include "schedules/cuda/shorten_steps.h"
#include "schedules/cuda/whole_vectors.h"

namespace attune::schedules::cuda {

void add_fragment_passes(Halide::Pipeline pipeline) {
    pipeline.add_custom_lowering_pass(new ShortenSteps);
    pipeline.add_custom_lowering_pass(new PrivateRegisters);
    pipeline.add_custom_lowering_pass(new JoinBranches);
}

void add_held_softmax_passes(Halide::Pipeline pipeline, const std::set<std::string> &buffers) {
    pipeline.add_custom_lowering_pass(new WholeVectors(buffers));
    pipeline.add_custom_lowering_pass(new IdleBarriers);
}

} // namespace attune::schedules::cuda
