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

namespace {

// Sum of weight * v. Weight 0 times a finite value is 0, so the mask needs no look there. Where a value isn't finite it does:
// 0 * NaN is NaN.
void declare_output(BlockState &b, const AttentionInputs &in, const Blocking &blocking, const Panels &panels, const Operands &operands,
                    const Scores &scores) {
    const int panel_keys = blocking.keys_per_panel;
    auto keys = [&](const char *name, const Expr &used) { return listed_keys(blocking, panels, Panels::listed_count, name, used); };
    auto at = [&](const Func &f, const RDom &r) { return f(row, r.y * panel_keys + r.x, tile, block, head, batch); };
    auto value = [&](const RDom &r) {
        return operands.value(dim, listed_panel(blocking, panels, r.y) * panel_keys + r.x, block, tile / blocking.tiles_per_task, head,
                              batch);
    };

    const Expr dropout = in.dropout.used();
    b.kept_keys = keys("kept_keys", dropout);
    const Cell cell{batch, head, query_of(in, blocking, row),
                    block * blocking.keys_per_block + listed_panel(blocking, panels, b.kept_keys.y) * panel_keys + b.kept_keys.x};
    b.kept(row, key, tile, block, head, batch) = Halide::undef<float>();
    b.kept(row, b.kept_keys.y * panel_keys + b.kept_keys.x, tile, block, head, batch) = in.dropout.keeps(cell);

    Expr bits = operands.value_bits(block, tile / blocking.tiles_per_task, head, batch);
    Expr all_finite = bits < Operands::infinite_bits;
    b.finite_keys = keys("finite_keys", all_finite && !dropout), b.dropped_keys = keys("dropped_keys", all_finite && dropout);
    b.careful_keys = keys("careful_keys", !all_finite);
    auto output = [&]() -> Halide::FuncRef { return b.output(row, dim, tile, block, head, batch); };
    output() = 0.0f;
    output() += at(b.weight, b.finite_keys) * value(b.finite_keys);
    output() += at(b.weight, b.dropped_keys) * at(b.kept, b.dropped_keys) * value(b.dropped_keys);
    Expr masked = strict_equal(at(scores.masked, b.careful_keys), masked_score());
    Expr kept = branch(dropout, at(b.kept, b.careful_keys), 1.0f);
    output() += at(b.weight, b.careful_keys) * kept * select(masked || strict_equal(kept, 0.0f), 0.0f, value(b.careful_keys));
}

} // namespace

BlockState block_state(const AttentionInputs &in, const Blocking &blocking, const Panels &panels, const Operands &operands,
                       const Scores &scores) {
    const int panel_keys = blocking.keys_per_panel;
    BlockState b;
    b.lane_maximum = Func("lane_maximum"), b.maximum = Func("block_maximum"), b.weight = Func("weight");
    b.lane_sum = Func("lane_sum"), b.sum = Func("block_sum"), b.kept = Func("kept"), b.output = Func("block_output");
    b.lanes = RDom(0, panel_keys, "lanes");
    auto slots = [&](const char *name) {
        RDom r(0, blocking.panels_per_block(), name);
        r.where(r < listed(panels, Panels::listed_count));
        return r;
    };
    auto score = [&](const Expr &k) { return scores.masked(row, k, tile, block, head, batch); };
    auto weight = [&](const Expr &k) -> Halide::FuncRef { return b.weight(row, k, tile, block, head, batch); };
    auto by_lane = [&](const Func &f, const Expr &l) -> Halide::FuncRef { return f(row, l, tile, block, head, batch); };
    auto over_all = [&](const Func &f) -> Halide::FuncRef { return f(row, tile, block, head, batch); };

    // Maxima and sums are kept a lane of the panel apart, so that no step waits for the one before.
    b.maximum_slots = slots("maximum_slots");
    by_lane(b.lane_maximum, lane) = masked_score();
    by_lane(b.lane_maximum, lane) = max(by_lane(b.lane_maximum, lane), score(b.maximum_slots * panel_keys + lane));
    over_all(b.maximum) = masked_score();
    over_all(b.maximum) = max(over_all(b.maximum), by_lane(b.lane_maximum, b.lanes));

    b.weight_keys = listed_keys(blocking, panels, Panels::listed_count, "weight_keys");
    Expr k = b.weight_keys.y * panel_keys + b.weight_keys.x;
    weight(key) = Halide::undef<float>();
    weight(k) = relative_weight(score(k), over_all(b.maximum), base2_scale(in.temperature));

    b.sum_slots = slots("sum_slots");
    by_lane(b.lane_sum, lane) = 0.0f;
    by_lane(b.lane_sum, lane) += weight(b.sum_slots * panel_keys + lane);
    over_all(b.sum) = 0.0f;
    over_all(b.sum) += by_lane(b.lane_sum, b.lanes);

    declare_output(b, in, blocking, panels, operands, scores);
    return b;
}

} // namespace attune::dsl
