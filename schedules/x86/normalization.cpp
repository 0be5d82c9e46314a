// Norms for x86: a row at a time, in vectors.
#include "dsl/axes.h"
#include "schedules/schedules.h"
#include "schedules/x86/bfloat16.h"
#include "schedules/x86/stream_stores.h"

namespace attune::schedules::x86 {

using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

dsl::NormShape norm_shape(const Machine &machine, int, const Halide::Expr &) { return {4 * machine.float_lanes, to_bfloat16(machine)}; }

void vectorized_norm(const dsl::Norm &n, const Machine &machine) {
    const int lanes = machine.float_lanes, stored = stored_lanes(machine), rows_per_task = 8;
    const Var lane = dsl::axes::lane, task("task");
    Func y = n.y;
    const Var channel = y.args()[0], row = y.args()[1];
    y.split(row, task, row, rows_per_task, TailStrategy::GuardWithIf).parallel(task).partition(task, Halide::Partition::Never);
    // Layer norm of 16-bit rows is arithmetic more than memory.
    if (n.kind == dsl::NormKind::rms || y.type().bits() == 32) stream_runs(y.specialize(is_streamed(y)), channel, stored, y.type());
    y.vectorize(channel, stored, TailStrategy::GuardWithIf);
    const bool layer = n.kind == dsl::NormKind::layer;
    for (Func partial : {n.lane_sum, n.lane_squares}) {
        if (!layer && partial.name() == n.lane_sum.name()) continue;
        partial.compute_at(y, row).bound_extent(lane, 4 * lanes).vectorize(lane, lanes).unroll(lane);
        partial.update().reorder(lane, n.chunks).vectorize(lane, lanes).unroll(lane);
    }
    for (Func total : {n.sum, n.squares}) {
        if (!layer && total.name() == n.sum.name()) continue;
        total.compute_at(y, row);
        total.update().atomic().vectorize(n.lanes, 4 * lanes);
    }
}

void vectorized_row_sum(const dsl::RowSum &s, const Machine &machine) {
    Func y = s.y;
    const Var row = y.args()[1], task("task");
    y.split(row, task, row, 8, TailStrategy::GuardWithIf)
        .vectorize(y.args()[0], machine.float_lanes, TailStrategy::GuardWithIf)
        .parallel(task);
}

} // namespace attune::schedules::x86
