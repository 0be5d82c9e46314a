// Norms for x86: in vectors along rows, short ones side by side.
#include "dsl/axes.h"
#include "schedules/schedules.h"
#include "schedules/x86/loops.h"
#include "schedules/x86/sixteen_bits.h"
#include "schedules/x86/stream_stores.h"

namespace attune::schedules::x86 {

using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

// Rows that go through the stages side by side, so that one begins while another ends; of longer ones two or one. From memory more would
// take longer: rows of 256 numbers 25 % with 8 KiB (f32, Zen 5), and of 768 two 9 % (Zen 4).
constexpr int bytes_together = 4096;

} // namespace

dsl::NormShape norm_shape(const Machine &machine, int, const Halide::Expr &) {
    return {4 * machine.float_lanes, machine.float_lanes, rounding(machine)};
}

void vectorized_norm(const dsl::Norm &n, const Machine &machine) {
    const int lanes = machine.float_lanes, stored = stored_lanes(machine, n.y.type());
    const Var lane = dsl::axes::lane, group("group"), task("task");
    Func y = n.y;
    const Var channel = y.args()[0], row = y.args()[1];
    const Halide::Expr channels = y.output_buffer().dim(0).extent();
    const int together = bytes_together / y.type().bytes();
    const Halide::Expr are_short = channels <= together / 2;
    const Halide::Expr rows = select(are_short, together / max(1, channels), channels <= together && !is_streamed(y), 2, 1);
    const Halide::Expr elements = select(is_streamed(y), elements_per_streamed_task, elements_per_task);
    y.split(row, group, row, rows, TailStrategy::GuardWithIf)
        .split(group, task, group, max(1, elements / (rows * channels)), TailStrategy::GuardWithIf)
        .reorder(channel, row, group, task)
        .parallel(task)
        .partition(task, Halide::Partition::Never);
    // Layer norm of short 16-bit rows is arithmetic more than memory. Rows that lie apart go each by itself.
    const bool short_ones = n.kind == dsl::NormKind::rms || y.type().bits() == 32;
    const Halide::Expr go_together = short_ones ? are_short && y.output_buffer().dim(1).stride() == channels : are_short;
    stream_runs(y.specialize(is_streamed(y) && !go_together), channel, stored, y.type());
    if (short_ones) {
        Halide::Stage groups = y.specialize(is_streamed(y));
        stream_rows(groups, row);
        groups.vectorize(channel, stored, TailStrategy::GuardWithIf);
    }
    y.vectorize(channel, stored, TailStrategy::GuardWithIf);
    const auto of_rows = [&](Func f) { f.compute_at(y, group).hoist_storage(y, task).bound_storage(row, together); }; // on the stack
    const auto by_lane = [&](Func partial, const Func &total) {
        partial.compute_at(total, row).bound_extent(lane, 4 * lanes).vectorize(lane, lanes).unroll(lane);
        by_chunks(partial, n.chunks, lanes);
    };
    const auto over_lanes = [&](Func total) { total.update().atomic().vectorize(n.lanes, 4 * lanes); };
    if (n.kind == dsl::NormKind::layer) of_rows(n.sum), by_lane(n.lane_sum, n.sum), over_lanes(n.sum);
    if (!n.statistics.defined()) {
        of_rows(n.squares), by_lane(n.lane_squares, n.squares), over_lanes(n.squares);
        return;
    }
    of_rows(n.statistics), by_lane(n.lane_squares, n.statistics);
    for (Func total : {n.squares, n.deviations}) {
        total.compute_at(n.statistics, row);
        over_lanes(total);
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
