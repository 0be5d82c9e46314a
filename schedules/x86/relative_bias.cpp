// ALiBi's slopes, and the biases by distance, for x86.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

void vectorized_slopes(const dsl::AlibiSlopes &s, const Machine &machine) {
    Func slopes = s.slopes;
    slopes.vectorize(head, machine.float_lanes, TailStrategy::GuardWithIf);
}

// A bucket may take a logarithm, and all heads share it. It is a branch, and so no vector.
void vectorized_relative_bias(const dsl::RelativeBias &r, const Machine &machine) {
    Func bucket = r.bucket, result = r.result;
    const Var distance = result.args()[0];
    bucket.compute_root().parallel(batch);
    result.vectorize(distance, machine.float_lanes, TailStrategy::GuardWithIf).parallel(head).parallel(batch);
}

} // namespace attune::schedules::x86
