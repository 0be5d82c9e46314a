// From q, k and v to masked scores.
#include "dsl/attention_parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/score.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

Operands operands(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Expr &padded_value_dim) {
    const Expr keys = blocking.keys_per_block;
    const int step = blocking.value_step, slack = blocking.keys_per_panel;
    Operands o{Func("query_lines"),         Func("packed_query"),    Func("key_block"),
               Func("value_block"),         Func("value_lane"),      Func("value_bits"),
               RDom(0, keys, "keys"),       RDom(0, keys, "values"), RDom(0, padded_value_dim / step, 0, keys, "value_steps"),
               RDom(0, step, "value_lanes")};

    const int width = Operands::line_width;
    Halide::Var channel_of_line("channel"), line("line");
    o.query_lines(channel_of_line, row, line, tile, head, batch) =
        in.query_channel(line * width + channel_of_line, query_of(in, blocking, row), head, batch);
    o.query(row, dim, tile, head, batch) = o.query_lines(dim % width, row, dim / width, tile, head, batch) * in.scale;

    // Whole panels are copied, so a few keys on either side of the task's own come along. Past the last key it is repeated: its
    // scores are masked. Only what is needed is defined.
    auto source = [&](const RDom &r) { return min(Halide::likely(block * keys + r), in.keys - 1); };
    only_keys_of_task(o.keys, ranges, block * keys + o.keys - slack, 2 * slack);
    o.key(dim, key, block, task, head, batch) = Halide::undef<float>();
    o.key(dim, o.keys, block, task, head, batch) = in.key_channel(dim, source(o.keys), head, batch);

    only_keys_of_task(o.values, ranges, block * keys + o.values - slack, 2 * slack);
    Expr channel = step == 1 ? Expr(dim) : min(dim, in.value_dim - 1);
    Expr value = cast<float>(in.value(channel, source(o.values), head / in.heads_per_group, batch));
    o.value(dim, key, block, task, head, batch) = Halide::undef<float>();
    o.value(dim, o.values, block, task, head, batch) =
        is_const(padded_value_dim) || step == 1 ? value : select(dim < in.value_dim, value, 0.0f);

    // Integers order |v| as floats do, with Inf and NaN on top, and no floating-point assumption can hide a NaN from them.
    Halide::Var each("each");
    only_keys_of_task(o.value_steps, ranges, block * keys + o.value_steps.y - slack, 2 * slack);
    Expr bits =
        Halide::reinterpret<int32_t>(o.value(o.value_steps.x * step + each, o.value_steps.y, block, task, head, batch)) & 0x7fffffff;
    o.value_lane(each, block, task, head, batch) = 0;
    o.value_lane(each, block, task, head, batch) = max(o.value_lane(each, block, task, head, batch), bits);
    o.value_bits(block, task, head, batch) = 0;
    o.value_bits(block, task, head, batch) =
        max(o.value_bits(block, task, head, batch), o.value_lane(o.value_lanes, block, task, head, batch));
    return o;
}

namespace {

// What of the table of relative biases a tile and a block can need, so that a row's neighbours read neighbours of it: distance
// x - (keys of a block - 1) between the tile's first query and the block's first key stands at x.
void declare_relative_window(Scores &s, const AttentionInputs &in, const Blocking &blocking) {
    Halide::Var distance("distance");
    Expr first = tile * blocking.rows_per_tile - block * blocking.keys_per_block - (blocking.keys_per_block - 1);
    Expr index = clamp(first + distance + in.keys - 1, 0, in.queries + in.keys - 2);
    s.relative_window(distance, tile, block, head, batch) = in.relative(index, head, batch);
}

// Keys of partial panels with the gaps of the run-time mask between: (lane, gap, slot).
RDom gaps_of_tile(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels) {
    RDom r(0, blocking.keys_per_panel, 0, in.intervals.count + 1, 0, blocking.panels_per_block(), "interval_keys");
    r.where(r.z < listed(panels, Panels::partial_count));
    Expr begin = block * blocking.keys_per_block + listed_panel(blocking, panels, r.z) * blocking.keys_per_panel;
    r.where(ranges.gap_first(r.y, tile, head, batch) < begin + blocking.keys_per_panel && ranges.gap_last(r.y, tile, head, batch) > begin);
    return r;
}

} // namespace

Scores scores(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels,
              const Operands &operands) {
    const int panel_keys = blocking.keys_per_panel;
    const Expr always = Halide::Internal::const_true();
    auto all_keys = [&](const char *name, const Expr &used) { return listed_keys(blocking, panels, Panels::listed_count, name, used); };
    auto partial_keys = [&](const char *name, const Expr &used) {
        return listed_keys(blocking, panels, Panels::partial_count, name, used);
    };
    Scores s;
    s.dot = Func("dot"), s.relative_window = Func("relative_window"), s.masked = Func("score");
    s.dims = RDom(0, in.head_dim, "dims");
    auto at = [&](const Expr &slot_key) -> Halide::FuncRef { return s.masked(row, slot_key, tile, block, head, batch); };
    auto stored = [&](const RDom &r) -> Halide::FuncRef { return at(r.y * panel_keys + r.x); };
    auto in_block = [&](const RDom &r) { return listed_panel(blocking, panels, r.y) * panel_keys + r.x; };
    // The cell's key is clamped for reading tensors: past the last key the run-time mask has the say, and never allows.
    auto cell = [&](const RDom &r) {
        return Cell{batch, head, query_of(in, blocking, row), min(block * blocking.keys_per_block + in_block(r), in.keys - 1)};
    };
    const Halide::Var slot("slot");
    s.dot(row, lane, slot, tile, block, head, batch) = 0.0f;
    s.dot(row, lane, slot, tile, block, head, batch) +=
        operands.query(row, s.dims, tile, head, batch) *
        operands.key(s.dims, listed_panel(blocking, panels, slot) * panel_keys + lane, block, tile / blocking.tiles_per_task, head, batch);

    // Each stage runs only where it has something to do, so what is not asked for costs nothing.
    at(key) = Halide::undef<float>();
    const RDom store = all_keys("store_keys", always);
    stored(store) = s.dot(row, store.x, store.y, tile, block, head, batch);
    s.updates = {{Scores::store, store}};

    const RDom cap = all_keys("cap_keys", in.softcap > 0.0f);
    stored(cap) = softcap(stored(cap), in.softcap);
    s.updates.push_back({Scores::cap, cap});

    declare_relative_window(s, in, blocking);
    const RDom relative = all_keys("relative_keys", in.use_relative != 0);
    stored(relative) += s.relative_window(row + blocking.keys_per_block - 1 - in_block(relative), tile, block, head, batch);
    s.updates.push_back({Scores::relative, relative});

    const RDom bias = all_keys("score_bias_keys", in.use_bias != 0);
    stored(bias) = add_bias(stored(bias), panels.bias.rows(row, in_block(bias), tile, block, head, batch));
    s.updates.push_back({Scores::bias, bias});

    if (in.score) {
        const RDom own = all_keys("own_keys", always);
        stored(own) = (*in.score)(stored(own), cell(own));
        s.updates.push_back({Scores::own, own});
    }

    const RDom attend = partial_keys("score_attend_keys", in.use_attend != 0);
    Expr attends = panels.attend.rows(row, in_block(attend), tile, block, head, batch) != cast<uint8_t>(0);
    stored(attend) = mask_score(stored(attend), attends);
    s.updates.push_back({Scores::attend, attend});

    const RDom gaps = gaps_of_tile(in, blocking, ranges, panels);
    Expr gap_key = block * blocking.keys_per_block + listed_panel(blocking, panels, gaps.z) * panel_keys + gaps.x;
    Expr in_gap = gap_key >= ranges.gap_begin(row, gaps.y, tile, head, batch) && gap_key < ranges.gap_end(row, gaps.y, tile, head, batch);
    at(gaps.z * panel_keys + gaps.x) = mask_score(at(gaps.z * panel_keys + gaps.x), !in_gap);
    s.updates.push_back({Scores::intervals, gaps});

    if (in.mask) {
        const RDom compiled = partial_keys("compiled_keys", always);
        stored(compiled) = mask_score(stored(compiled), in.mask->allows(cell(compiled)));
        s.updates.push_back({Scores::compiled, compiled});
    }
    return s;
}

} // namespace attune::dsl
