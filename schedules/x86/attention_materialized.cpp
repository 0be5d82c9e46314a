// Materialized attention for x86: all scores of a head in memory, the textbook way. The base line that others are measured against.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

const Var head_and_batch{"head_and_batch"};

// Computed whole for one head, before anything that reads it.
void per_head(const dsl::Attention &a, Func f) {
    for (const Var &axis : f.args())
        if (axis.name() == head.name() || axis.name() == batch.name() || axis.name() == block.name()) f.bound_extent(axis, 1);
    f.compute_at(a.fold.result, head_and_batch);
}

// A stage over (x, y): rows innermost, in vectors.
void rows_in_vectors(Func f, int stage, const Halide::RVar &x, const Halide::RVar &y, int lanes) {
    f.update(stage).reorder(row, x, y).vectorize(row, lanes);
}

void results(const dsl::Attention &a, int lanes) {
    Func result = a.fold.result, output = a.output, lse = a.lse;
    result.compute_root().bound(row, 0, a.blocking.rows_per_tile).vectorize(row, lanes);
    result.reorder(row, lane, tile, head, batch).fuse(head, batch, head_and_batch).parallel(head_and_batch);
    output.vectorize(dim, lanes, TailStrategy::GuardWithIf).parallel(head);
    lse.vectorize(token, lanes, TailStrategy::GuardWithIf);
}

void scores(const dsl::Attention &a, int lanes) {
    const dsl::Scores &s = a.scores;
    Func masked = s.masked, dot = s.dot;
    rows_in_vectors(masked, dsl::Scores::store, s.store_keys.x, s.store_keys.y, lanes);
    masked.update(dsl::Scores::store).unroll(row).unroll(s.store_keys.x);
    rows_in_vectors(masked, dsl::Scores::cap, s.cap_keys.x, s.cap_keys.y, lanes);
    rows_in_vectors(masked, dsl::Scores::bias, s.bias_keys.x, s.bias_keys.y, lanes);
    rows_in_vectors(masked, dsl::Scores::attend, s.attend_keys.x, s.attend_keys.y, lanes);
    masked.update(dsl::Scores::intervals).reorder(row, s.interval_keys.x, s.interval_keys.y, s.interval_keys.z).vectorize(row, lanes);
    if (masked.num_update_definitions() > dsl::Scores::compiled)
        rows_in_vectors(masked, dsl::Scores::compiled, s.compiled_keys.x, s.compiled_keys.y, lanes);

    dot.compute_at(masked, s.store_keys.y).bound_extent(row, a.blocking.rows_per_tile).bound_extent(lane, a.blocking.keys_per_panel);
    dot.vectorize(row, lanes).unroll(row).unroll(lane);
    dot.update().reorder(row, lane, s.dims).vectorize(row, lanes).unroll(row).unroll(lane);
}

void softmax_and_output(const dsl::Attention &a, int lanes) {
    const dsl::BlockState &p = a.partial;
    Func weight = p.weight, output = p.output, state = a.fold.state, lane_maximum = p.lane_maximum, lane_sum = p.lane_sum;
    lane_maximum.update().reorder(row, lane, p.maximum_panels).vectorize(row, lanes);
    lane_sum.update().reorder(row, lane, p.sum_panels).vectorize(row, lanes);
    rows_in_vectors(weight, 0, p.weight_keys.x, p.weight_keys.y, lanes);
    const Var dims("dims"), in_dims("in_dims");
    output.update(dsl::BlockState::finite)
        .split(dim, dims, in_dims, 8, TailStrategy::GuardWithIf)
        .reorder(row, in_dims, p.finite_keys, dims)
        .vectorize(row, lanes);
    output.update(dsl::BlockState::careful).reorder(row, dim, p.careful_keys).vectorize(row, lanes);
    rows_in_vectors(state, 0, a.fold.merge.x, a.fold.merge.y, lanes);
}

} // namespace

// One block holds every key.
dsl::Blocking materialized_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys) {
    dsl::Blocking blocking = flash_blocking(machine, head_dim, keys);
    blocking.tiles_per_task = 1;
    blocking.keys_per_block = (keys + blocking.keys_per_panel - 1) / blocking.keys_per_panel * blocking.keys_per_panel;
    blocking.value_step = 1;
    return blocking;
}

void materialized_attention(const dsl::Attention &a, const Machine &machine) {
    const int lanes = machine.float_lanes;
    for (Func f :
         {a.ranges.gap_begin,    a.ranges.gap_end,  a.ranges.first,         a.ranges.end,      a.ranges.full_first, a.ranges.full_end,
          a.ranges.task_first,   a.ranges.task_end, a.operands.query,       a.operands.key,    a.operands.value,    a.operands.value_lane,
          a.operands.value_bits, a.scores.masked,   a.partial.lane_maximum, a.partial.maximum, a.partial.weight,    a.partial.lane_sum,
          a.partial.sum,         a.partial.output,  a.fold.state,           a.fold.starved,    a.fold.attends})
        per_head(a, f);
    results(a, lanes);
    scores(a, lanes);
    softmax_and_output(a, lanes);
}

} // namespace attune::schedules::x86
