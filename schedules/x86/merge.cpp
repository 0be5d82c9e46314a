// Merging two attention results, for x86.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;

// The factors of all rows come first, before either output is stored over what they were made from.
void vectorized_merge(const dsl::Merge &m, const Machine &machine) {
    const int lanes = machine.float_lanes, tokens_per_task = 64;
    Func factors = m.factors, output = m.output, lse = m.lse;
    factors.compute_root().bound(lane, 0, dsl::Merge::lanes).reorder(lane, token, head, batch);
    factors.vectorize(token, lanes, TailStrategy::GuardWithIf).unroll(lane).parallel(head).parallel(batch);
    output.split(token, task, token, tokens_per_task, TailStrategy::GuardWithIf).vectorize(dim, lanes, TailStrategy::GuardWithIf);
    output.parallel(task).parallel(head).parallel(batch);
    lse.vectorize(token, lanes, TailStrategy::GuardWithIf);
}

} // namespace attune::schedules::x86
