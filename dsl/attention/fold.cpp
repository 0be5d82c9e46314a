// The fold of the blocks' softmax states, and what becomes of it: output and log-sum-exp.
#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/side_output.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

// The lanes of a state are those of dsl::state, the counts of panels where they are asked for, and then the channels.
constexpr int counts_at = state::output;

int first_channel(const AttentionInputs &in) { return counts_at + (in.count_panels ? 2 : 0); }

// Whether any key at all may be attended by a row whose sum came out as 0. If so its scores were all -inf, from an Inf in q or k,
// and its softmax is 0 / 0; if not, its result is zeros by definition. Looked at only for tiles that have such a row.
void declare_attends(Fold &f, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    f.starved(tile, head, batch) = 0;
    f.starved(tile, head, batch) =
        max(f.starved(tile, head, batch), select(strict_equal(f.state(f.rows, state::sum, tile, head, batch), 0.0f), 1, 0));

    f.cells = RDom(0, in.intervals.count, 0, in.keys, "starved_cells");
    only_keys_of_tile(f.cells, ranges, f.cells.y, 1);
    f.cells.where(f.starved(tile, head, batch) != 0);
    const Cell cell{batch, head, query_of(in, blocking, row), f.cells.y};
    Expr allowed = in_interval(ranges, row, f.cells.x, cell.key) && in.beside_intervals_allow(cell);
    f.attends(row, tile, head, batch) = 0;
    f.attends(row, tile, head, batch) = max(f.attends(row, tile, head, batch), select(allowed, 1, 0));
}

void declare_closing(Fold &f, const AttentionInputs &in, const Blocking &blocking) {
    auto lane_of = [&](const Expr &l) { return f.state(row, l, tile, head, batch); };
    Expr maximum = lane_of(state::maximum) * scale_left(in, blocking), sum = lane_of(state::sum);
    auto closed = [&](const Expr &which) { return closing(in, which, maximum, sum, head, f.attends(row, tile, head, batch)); };
    Expr lse = closed(int(Fold::log_sum_exp));
    if (blocking.side_outputs) {
        Expr token = tile * blocking.rows_per_tile + row;
        lse = also_stored(lse, Blocking::log_sum_exp, token < in.queries, {token, head, batch});
    }
    Expr value = branch(which == int(Fold::log_sum_exp), lse, closed(which));
    if (in.count_panels && blocking.side_outputs)
        for (int i = 0; i < 2; i++) {
            Expr count = also_stored(lane_of(counts_at + i), Blocking::panel_counts, row == 0, {i, tile, head, batch});
            value = branch(which == Fold::closing_count + i, count, value);
        }
    f.closing(row, which, tile, head, batch) = defined_if(is_multiplied(in, blocking, row), value);
}

void declare_result(Fold &f, const AttentionInputs &in, const Blocking &blocking) {
    auto lane_of = [&](const Expr &l) { return f.state(row, l, tile, head, batch); };
    auto closing = [&](Fold::Closing which) { return f.closing(row, int(which), tile, head, batch); };
    auto output_of = [&](const Expr &channel) { return lane_of(channel + first_channel(in)) * closing(Fold::factor); };
    if (blocking.side_outputs) {
        f.result(row, lane, tile, head, batch) = output_of(lane);
        return;
    }
    const Expr output = output_of(min(lane, in.value_dim - 1));
    Expr lse = closing(Fold::log_sum_exp), rest = lse;
    if (in.count_panels) rest = branch(lane == in.value_dim, lse, lane_of(max(lane - in.value_dim - 1, 0) + counts_at));
    f.result(row, lane, tile, head, batch) = branch(lane < in.value_dim, output, rest);
}

} // namespace

Fold fold(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels, const BlockState &partial,
          const Expr &padded_value_dim) {
    const Expr keys = blocking.keys_per_block, steps = Halide::Internal::simplify(padded_value_dim / blocking.value_step);
    const int others = first_channel(in);
    Fold f;
    f.state = Func("state"), f.starved = Func("starved"), f.attends = Func("attends"), f.closing = Func("closing"),
    f.result = Func("result");
    f.merge = RDom(0, others + blocking.value_step, 0, steps, 0, divided_up(in.keys, keys), "merge");
    f.rows = RDom(0, blocking.rows_per_tile, "rows");
    const Halide::RVar &in_step = f.merge.x, &step = f.merge.y, &b = f.merge.z;
    f.merge.where(in_step >= others || step == 0);

    // Both conditions on the block: the task's is the same for all its tiles, and lets a schedule skip the copies as well.
    Expr task_of = blocking.task_of(tile);
    for (const auto &range : {ranges.of_task(task_of, head, batch), ranges.of_tile(tile, head, batch)})
        f.merge.where(has_keys_in(blocking, range, b));
    auto listed_in = [&](Panels::Slot slot) { return panels.list(int(slot), tile, b, head, batch); };
    f.merge.where(listed_in(Panels::listed_count) > 0);

    const Expr own = max(in_step - others, 0), channel = step * blocking.value_step + own;
    const Expr which = select(in_step < others, in_step, others + channel);
    auto lane_of = [&](const Expr &l) -> Halide::FuncRef { return f.state(row, l, tile, head, batch); };
    lane_of(lane) = select(lane == state::maximum, masked_score(), 0.0f);
    Expr kept_maximum = lane_of(state::maximum), added_maximum = partial.maximum(row, tile, b, head, batch);
    Expr maximum = max(kept_maximum, added_maximum);
    Expr is_added = which != state::kept_factor, base2 = exponent_scale(in, blocking);
    Expr factor = state_factor(blocking.products, is_added, select(is_added, added_maximum, kept_maximum), maximum, base2);
    auto merged = [&](const Expr &added) { return lane_of(which) * lane_of(state::kept_factor) + added * lane_of(state::added_factor); };
    Expr output = merged(partial.output(row, channel, tile, b, head, batch));
    if (in.count_panels) {
        Expr all = listed_in(Panels::listed_count), count = select(which == counts_at, all, all - listed_in(Panels::full_count));
        output = branch(in_step < others, lane_of(which) + cast<float>(count), output);
    }
    // Weights made as words are below 0, by far, where a score is NaN, and nowhere else.
    Expr sum = partial.sum(row, tile, b, head, batch);
    if (blocking.weights_as_words) sum = select(strict_less(sum, 0.0f), nan_value(), sum);
    lane_of(which) = branch(which >= state::output, output,
                            branch(which == state::sum, merged(sum), //
                                   branch(which == state::maximum, maximum, factor)));

    declare_attends(f, in, blocking, ranges);
    declare_closing(f, in, blocking);
    declare_result(f, in, blocking);
    return f;
}

} // namespace attune::dsl
