// From masked scores to the softmax state of a block, and the fold of the blocks' states.
#include "dsl/attention_parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

BlockState block_state(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Operands &operands,
                       const Scores &scores) {
    const int panel_keys = blocking.keys_per_panel;
    const Expr panels = blocking.panels_per_block(), keys = blocking.keys_per_block;
    BlockState b{Func("lane_maximum"),
                 Func("block_maximum"),
                 Func("weight"),
                 Func("lane_sum"),
                 Func("block_sum"),
                 Func("block_output"),
                 RDom(0, panels, "maximum_panels"),
                 RDom(0, panels, "sum_panels"),
                 RDom(0, panel_keys, "lanes"),
                 RDom(0, panel_keys, 0, panels, "weight_keys"),
                 RDom(0, keys, "finite_keys"),
                 RDom(0, keys, "careful_keys")};
    auto score = [&](const Expr &k) { return scores.masked(row, k, tile, block, head, batch); };
    auto weight = [&](const Expr &k) -> Halide::FuncRef { return b.weight(row, k, tile, block, head, batch); };
    auto only = [&](RDom &r, const Expr &first, int count) { only_keys_of_tile(r, ranges, block * keys + first, count); };

    // Maxima and sums are kept a lane of the panel apart, so that no step waits for the one before.
    only(b.maximum_panels, b.maximum_panels * panel_keys, panel_keys);
    b.lane_maximum(row, lane, tile, block, head, batch) = masked_score();
    b.lane_maximum(row, lane, tile, block, head, batch) =
        max(b.lane_maximum(row, lane, tile, block, head, batch), score(b.maximum_panels * panel_keys + lane));
    b.maximum(row, tile, block, head, batch) = masked_score();
    b.maximum(row, tile, block, head, batch) =
        max(b.maximum(row, tile, block, head, batch), b.lane_maximum(row, b.lanes, tile, block, head, batch));

    only(b.weight_keys, b.weight_keys.y * panel_keys, panel_keys);
    Expr k = b.weight_keys.y * panel_keys + b.weight_keys.x;
    weight(key) = Halide::undef<float>();
    weight(k) = relative_weight(score(k), b.maximum(row, tile, block, head, batch), base2_scale(in.temperature));

    only(b.sum_panels, b.sum_panels * panel_keys, panel_keys);
    b.lane_sum(row, lane, tile, block, head, batch) = 0.0f;
    b.lane_sum(row, lane, tile, block, head, batch) += weight(b.sum_panels * panel_keys + lane);
    b.sum(row, tile, block, head, batch) = 0.0f;
    b.sum(row, tile, block, head, batch) += b.lane_sum(row, b.lanes, tile, block, head, batch);

    // Weight 0 times a finite value is 0, so the mask needs no look here. Where a value isn't finite it does: 0 * NaN is NaN.
    Expr bits = operands.value_bits(block, tile / blocking.tiles_per_task, head, batch);
    auto value = [&](const RDom &r) { return operands.value(dim, r, block, tile / blocking.tiles_per_task, head, batch); };
    only(b.finite_keys, b.finite_keys, 1);
    b.finite_keys.where(bits < Operands::infinite_bits);
    only(b.careful_keys, b.careful_keys, 1);
    b.careful_keys.where(bits >= Operands::infinite_bits);
    Expr masked = strict_equal(score(b.careful_keys), masked_score());
    b.output(row, dim, tile, block, head, batch) = 0.0f;
    b.output(row, dim, tile, block, head, batch) += weight(b.finite_keys) * value(b.finite_keys);
    b.output(row, dim, tile, block, head, batch) += weight(b.careful_keys) * select(masked, 0.0f, value(b.careful_keys));
    return b;
}

namespace {

// Whether any key at all may be attended by a row whose sum came out as 0. If so its scores were all -inf, from an Inf in q or k,
// and its softmax is 0 / 0; if not, its result is zeros by definition. Looked at only for tiles that have such a row.
void declare_attends(Fold &f, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    f.starved(tile, head, batch) = 0;
    f.starved(tile, head, batch) =
        max(f.starved(tile, head, batch), select(strict_equal(f.state(f.rows, state::sum, tile, head, batch), 0.0f), 1, 0));

    Expr query = query_of(in, blocking, row);
    f.cells = RDom(0, in.intervals.count, 0, in.keys, "cells");
    only_keys_of_tile(f.cells, ranges, f.cells.y, 1);
    f.cells.where(f.starved(tile, head, batch) != 0);
    Cell cell{batch, head, query, f.cells.y};
    Expr allowed = cell.key >= in.intervals.begin(f.cells.x, query, batch) && cell.key < in.intervals.end(f.cells.x, query, batch);
    allowed = allowed && in.tensors_allow(cell);
    if (in.mask) allowed = allowed && in.mask->allows(cell);
    f.attends(row, tile, head, batch) = 0;
    f.attends(row, tile, head, batch) = max(f.attends(row, tile, head, batch), select(allowed, 1, 0));
}

} // namespace

Expr AttentionInputs::tensors_allow(const Cell &cell) const {
    return (use_attend == 0 || boolean_tensor(attend).allows(cell)) && (use_bias == 0 || finite_bias(bias).allows(cell));
}

Fold fold(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const BlockState &partial,
          const Expr &padded_value_dim) {
    const Expr keys = blocking.keys_per_block;
    Fold f;
    f.state = Func("state"), f.starved = Func("starved"), f.attends = Func("attends"), f.result = Func("result");
    f.merge = RDom(0, padded_value_dim + state::output, 0, (in.keys + keys - 1) / keys, "merge");
    f.rows = RDom(0, blocking.rows_per_tile, "rows");
    const Halide::RVar &which = f.merge.x, &b = f.merge.y;

    // Both conditions on the block: the task's is the same for all its tiles, and lets a schedule skip the copies as well.
    Expr task_of = tile / blocking.tiles_per_task;
    f.merge.where(b * keys < ranges.task_end(task_of, head, batch) && (b + 1) * keys > ranges.task_first(task_of, head, batch));
    f.merge.where(b * keys < ranges.end(tile, head, batch) && (b + 1) * keys > ranges.first(tile, head, batch));

    auto lane_of = [&](const Expr &l) -> Halide::FuncRef { return f.state(row, l, tile, head, batch); };
    lane_of(lane) = select(lane == state::maximum, masked_score(), 0.0f);
    Expr kept_maximum = lane_of(state::maximum), added_maximum = partial.maximum(row, tile, b, head, batch);
    Expr maximum = max(kept_maximum, added_maximum);
    Expr factor = relative_weight(select(which == state::kept_factor, kept_maximum, added_maximum), maximum, base2_scale(in.temperature));
    auto merged = [&](const Expr &added) { return lane_of(which) * lane_of(state::kept_factor) + added * lane_of(state::added_factor); };
    Expr output = partial.output(row, max(which - state::output, 0), tile, b, head, batch);
    lane_of(which) = branch(which >= state::output, merged(output),
                            branch(which == state::sum, merged(partial.sum(row, tile, b, head, batch)), //
                                   branch(which == state::maximum, maximum, factor)));

    declare_attends(f, in, blocking, ranges);
    Expr sum = lane_of(state::sum), starved = strict_equal(sum, 0.0f);
    Expr undefined = starved && f.attends(row, tile, head, batch) != 0;
    Expr channel = lane_of(min(lane, in.value_dim - 1) + state::output);
    Expr output_lane = select(starved, 0.0f, channel / sum);
    Expr lse_lane = log_sum_exp(lane_of(state::maximum), sum, in.temperature);
    f.result(row, lane, tile, head, batch) =
        branch(lane < in.value_dim, select(undefined, nan_value(), output_lane), select(undefined, nan_value(), lse_lane));
    return f;
}

Attention attention(const AttentionInputs &in, const Blocking &blocking) {
    Attention a;
    a.blocking = blocking;
    a.padded_value_dim = Halide::Internal::simplify((in.value_dim + blocking.value_step - 1) / blocking.value_step * blocking.value_step);
    a.ranges = key_ranges(in, blocking);
    a.operands = operands(in, blocking, a.ranges, a.padded_value_dim);
    a.scores = scores(in, blocking, a.ranges, a.operands);
    a.partial = block_state(in, blocking, a.ranges, a.operands, a.scores);
    a.fold = fold(in, blocking, a.ranges, a.partial, a.padded_value_dim);

    const int rows = blocking.rows_per_tile;
    a.output_rows = Func("output_rows"), a.output = Func("attention"), a.lse = Func("log_sum_exp");
    a.output_rows(row, dim, tile, head, batch) = a.fold.result(row, dim, tile, head, batch);
    a.output(dim, token, head, batch) = Halide::cast(in.output_type, a.output_rows(token % rows, dim, token / rows, head, batch));
    a.lse(token, head, batch) = a.fold.result(token % rows, in.value_dim, token / rows, head, batch);
    return a;
}

} // namespace attune::dsl
