// Softmax for x86: a row at a time, in vectors, rows in parallel.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

// Four vectors of partial results side by side: a maximum or sum takes four cycles, and two can start in each.
int softmax_lanes(const Machine &machine, int, const Halide::Expr &) { return 4 * machine.float_lanes; }

void vectorized_softmax(const dsl::Softmax &s, const Machine &machine) {
    const int lanes = machine.float_lanes;
    Func result = s.result, weight = s.weight;
    const Var i = result.args()[0], row = result.args()[1];
    result.vectorize(i, lanes, TailStrategy::GuardWithIf).parallel(row);
    weight.compute_at(result, row).vectorize(i, lanes, TailStrategy::GuardWithIf);
    for (Func partial : {s.lane_maximum, s.lane_sum}) {
        partial.compute_at(result, row).bound_extent(dsl::axes::lane, 4 * lanes).vectorize(dsl::axes::lane, lanes).unroll(dsl::axes::lane);
        partial.update().reorder(dsl::axes::lane, s.chunks).vectorize(dsl::axes::lane, lanes).unroll(dsl::axes::lane);
    }
    for (Func total : {s.maximum, s.sum})
        total.compute_at(result, row);
}

} // namespace attune::schedules::x86
