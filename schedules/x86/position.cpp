// Positional encodings for x86.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;

void vectorized_rotary(const dsl::Rotary &r, const Machine &machine) {
    const int lanes = machine.float_lanes;
    Func output = r.output, result = r.result, turns = r.turns_per_token;
    output.reorder(dim, head, batch, token).vectorize(dim, lanes, TailStrategy::GuardWithIf).parallel(token);
    result.compute_at(output, head).vectorize(dim, lanes, TailStrategy::GuardWithIf);
    turns.compute_root();
    for (Func f : {r.cosine, r.sine})
        f.compute_at(output, token).vectorize(f.args()[0], lanes, TailStrategy::GuardWithIf);
}

void vectorized_sinusoidal(const dsl::Sinusoidal &s, const Machine &machine) {
    Func table = s.table, turns = s.turns_per_token;
    table.vectorize(dim, machine.float_lanes, TailStrategy::GuardWithIf).parallel(token);
    turns.compute_root();
}

} // namespace attune::schedules::x86
