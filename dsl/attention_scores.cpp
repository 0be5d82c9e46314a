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
    Operands o{Func("query_rows"),          Func("packed_query"),    Func("key_block"),
               Func("value_block"),         Func("value_lane"),      Func("value_bits"),
               RDom(0, keys, "keys"),       RDom(0, keys, "values"), RDom(0, padded_value_dim / step, 0, keys, "value_steps"),
               RDom(0, step, "value_lanes")};

    o.query_rows(dim, row, tile, head, batch) = cast<float>(in.query(dim, query_of(in, blocking, row), head, batch)) * in.scale;
    o.query(row, dim, tile, head, batch) = o.query_rows(dim, row, tile, head, batch);

    // Whole panels are copied, so a few keys on either side of the task's own come along. Past the last key it is repeated: its
    // scores are masked. Only what is needed is defined.
    auto source = [&](const RDom &r) { return min(block * keys + r, in.keys - 1); };
    only_keys_of_task(o.keys, ranges, block * keys + o.keys - slack, 2 * slack);
    o.key(dim, key, block, task, head, batch) = Halide::undef<float>();
    o.key(dim, o.keys, block, task, head, batch) = cast<float>(in.key(dim, source(o.keys), head / in.heads_per_group, batch));

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

// Keys of a block as (lane, panel), only the panels the tile needs.
RDom panels_of_tile(const Blocking &blocking, const KeyRanges &ranges, const std::string &name) {
    RDom r(0, blocking.keys_per_panel, 0, blocking.panels_per_block(), name);
    only_keys_of_tile(r, ranges, block * blocking.keys_per_block + r.y * blocking.keys_per_panel, blocking.keys_per_panel);
    return r;
}

// The same with the gaps of the run-time mask between: (lane, gap, panel).
RDom gaps_of_tile(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    RDom r(0, blocking.keys_per_panel, 0, in.intervals.count + 1, 0, blocking.panels_per_block(), "interval_keys");
    Expr begin = block * blocking.keys_per_block + r.z * blocking.keys_per_panel, end = begin + blocking.keys_per_panel;
    only_keys_of_tile(r, ranges, begin, blocking.keys_per_panel);
    r.where(begin < ranges.full_first(tile, head, batch) || end > ranges.full_end(tile, head, batch));
    return r;
}

} // namespace

Scores scores(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Operands &operands) {
    const int panel_keys = blocking.keys_per_panel;
    auto keys = [&](const char *name) { return panels_of_tile(blocking, ranges, name); };
    Scores s{Func("dot"),       Func("score"),       RDom(0, in.head_dim, "dims"),       keys("store_keys"),   keys("cap_keys"),
             keys("bias_keys"), keys("attend_keys"), gaps_of_tile(in, blocking, ranges), keys("compiled_keys")};
    Expr query = query_of(in, blocking, row);
    auto at = [&](const Expr &k) -> Halide::FuncRef { return s.masked(row, k, tile, block, head, batch); };
    auto index = [&](const RDom &r) { return r.y * panel_keys + r.x; };
    // The cell's key is clamped for reading tensors: past the last key the run-time mask has the say, and never allows.
    auto cell = [&](const RDom &r) { return Cell{batch, head, query, min(block * blocking.keys_per_block + index(r), in.keys - 1)}; };

    s.dot(row, lane, panel, tile, block, head, batch) = 0.0f;
    s.dot(row, lane, panel, tile, block, head, batch) +=
        operands.query(row, s.dims, tile, head, batch) *
        operands.key(s.dims, panel * panel_keys + lane, block, tile / blocking.tiles_per_task, head, batch);

    // Each stage runs only where it has something to do, so what is not asked for costs nothing.
    at(key) = Halide::undef<float>();
    at(index(s.store_keys)) = s.dot(row, s.store_keys.x, s.store_keys.y, tile, block, head, batch);
    s.cap_keys.where(in.softcap > 0.0f);
    at(index(s.cap_keys)) = softcap(at(index(s.cap_keys)), in.softcap);
    s.bias_keys.where(in.use_bias != 0);
    at(index(s.bias_keys)) = add_bias(at(index(s.bias_keys)), in.bias, cell(s.bias_keys));
    s.attend_keys.where(in.use_attend != 0);
    at(index(s.attend_keys)) = mask_score(at(index(s.attend_keys)), boolean_tensor(in.attend).allows(cell(s.attend_keys)));

    const RDom &g = s.interval_keys;
    Expr gap_index = g.z * panel_keys + g.x, gap_key = block * blocking.keys_per_block + gap_index;
    Expr in_gap = gap_key >= ranges.gap_begin(row, g.y, tile, batch) && gap_key < ranges.gap_end(row, g.y, tile, batch);
    at(gap_index) = mask_score(at(gap_index), !in_gap);

    if (in.mask) {
        const Expr first_query = tile * blocking.rows_per_tile,
                   first_key = block * blocking.keys_per_block + s.compiled_keys.y * panel_keys;
        const Expr last_query = min(first_query + blocking.rows_per_tile, in.queries) - 1;
        s.compiled_keys.where(!in.mask->allows_all({batch, head, {first_query, last_query}, {first_key, first_key + panel_keys - 1}}));
        at(index(s.compiled_keys)) = mask_score(at(index(s.compiled_keys)), in.mask->allows(cell(s.compiled_keys)));
    }
    return s;
}

} // namespace attune::dsl
