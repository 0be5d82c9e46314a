// Materialized attention for x86: all scores of a head in memory, the textbook way. The base line that others are measured against.
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "schedules/bounds.h"
#include "schedules/schedules.h"
#include "schedules/x86/loops.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

const Var head_and_batch{"head_and_batch"};

// Computed whole for one head, before anything that reads it.
void per_head(const dsl::Attention &a, Func f) {
    only_one(f, {block});
    f.compute_at(a.fold.result, head_and_batch);
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
    for (int i = 0; i < int(s.updates.size()); i++)
        rows_innermost(masked, i, s.updates[i].keys, lanes);
    const Var slot("slot"), in_slot("in_slot");
    masked.split(key, slot, in_slot, a.blocking.keys_per_panel, TailStrategy::RoundUp).bound_extent(row, a.blocking.rows_per_tile);
    masked.vectorize(row, lanes).unroll(row).unroll(in_slot);

    dot.compute_at(masked, slot).bound_extent(dot.args()[2], 1);
    dot.bound_extent(row, a.blocking.rows_per_tile).bound_extent(lane, a.blocking.keys_per_panel);
    dot.vectorize(row, lanes).unroll(row).unroll(lane);
    dot.update().reorder(row, lane, s.dims).vectorize(row, lanes).unroll(row).unroll(lane);
}

void softmax_and_output(const dsl::Attention &a, int lanes) {
    const dsl::BlockState &p = a.partial;
    Func output = p.output, state = a.fold.state, lane_maximum = p.lane_maximum, lane_sum = p.lane_sum;
    lane_maximum.update().reorder(row, lane, p.maximum_slots.x, p.maximum_slots.y).vectorize(row, lanes);
    lane_sum.update().reorder(row, lane, p.sum_slots.x, p.sum_slots.y).vectorize(row, lanes);
    Func weight = p.weight, kept = p.kept;
    weight.bound_extent(row, a.blocking.rows_per_tile).vectorize(row, lanes);
    by_counters(kept.bound_extent(row, a.blocking.rows_per_tile), a.inputs.dropout, lanes);
    const Var dims("dims"), in_dims("in_dims");
    std::vector<Halide::RDom> stages = p.finite_keys;
    stages.push_back(p.dropped_keys);
    for (int i = 0; i < int(stages.size()); i++)
        output.update(i)
            .split(dim, dims, in_dims, 8, TailStrategy::GuardWithIf)
            .reorder(row, in_dims, stages[i].x, stages[i].y, dims)
            .vectorize(row, lanes);
    output.update(int(stages.size())).reorder(row, dim, p.careful_keys.x, p.careful_keys.y).vectorize(row, lanes);
    state.update().reorder(row, a.fold.merge.x, a.fold.merge.y, a.fold.merge.z).vectorize(row, lanes);
}

} // namespace

// One block holds every key.
dsl::Blocking materialized_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys) {
    dsl::Blocking blocking = flash_blocking(machine, head_dim, keys);
    blocking.tiles_per_task = 1;
    blocking.keys_per_block = dsl::divided_up(keys, blocking.keys_per_panel) * blocking.keys_per_panel;
    blocking.value_step = blocking.value_lanes = 1;
    blocking.products = {}, blocking.rounding = {};
    blocking.side_outputs = blocking.asks_ahead = blocking.maxima_with_scores = blocking.sums_with_weights = false;
    blocking.reads_in_place = blocking.asks_with_products = false;
    blocking.lanes_apart = 0;
    return blocking;
}

void materialized_attention(const dsl::Attention &a, const Machine &machine) {
    const int lanes = machine.float_lanes;
    const dsl::KeyRanges &r = a.ranges;
    const dsl::Panels &p = a.panels;
    const dsl::BlockState &b = a.partial;
    for (Func f : {r.gap,
                   r.gap_range,
                   r.of_tile,
                   r.of_task,
                   p.attend.words,
                   p.bias.rows,
                   p.facts,
                   p.reach,
                   p.joined,
                   p.allowed_cells,
                   p.kind,
                   p.list,
                   a.operands.query,
                   a.operands.key,
                   a.operands.value,
                   a.operands.value_lane,
                   a.operands.value_bits,
                   a.scores.relative_window,
                   a.scores.masked,
                   b.lane_maximum,
                   b.maximum,
                   b.weight,
                   b.lane_sum,
                   b.sum,
                   b.kept,
                   b.output,
                   a.fold.state,
                   a.fold.starved,
                   a.fold.attends,
                   a.fold.closing})
        per_head(a, f);
    results(a, lanes);
    scores(a, lanes);
    softmax_and_output(a, lanes);
}

} // namespace attune::schedules::x86
