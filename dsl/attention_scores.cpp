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

namespace {

// What the product takes of q or k at d: a channel, or channels d and d + half of them as a pair. They are numbers of bf16 already
// unless a position came in. Past an odd D there are zeros.
Expr packed_channel(const AttentionInputs &in, const Products &products, const Func &x, const Expr &d,
                    const std::function<Expr(const Expr &)> &channel) {
    if (!products.pairs) return channel(d);
    const bool rounded = x.type().is_bfloat() && !in.positioning, exact = can_prove(in.head_dim == 2 * products.packed(in.head_dim));
    return products.pack([&](int which) {
        const bool inside = exact || (which == 0 && products.multiple == 1);
        Expr c = which == 0 ? d : d + products.packed(in.head_dim);
        Expr own = channel(inside ? c : min(c, in.head_dim - 1)), term = rounded ? own : round_to_bfloat16(own);
        return inside ? term : select(c < in.head_dim, term, 0.0f);
    });
}

// A channel of v, or of two keys one after the other as a pair.
Expr packed_value(const AttentionInputs &in, const Blocking &blocking, const Expr &padded_value_dim,
                  const std::function<Expr(const Expr &)> &source, const Expr &packed_key) {
    const Products &products = blocking.products;
    const bool exact = blocking.value_step == 1 || is_const(padded_value_dim);
    Expr channel = blocking.value_step == 1 ? Expr(dim) : min(dim, in.value_dim - 1);
    return products.pack([&](int which) {
        Expr value = as_float(in.value(channel, source(packed_key * products.depth() + which), head / in.heads_per_group, batch));
        if (products.pairs && !in.value.type().is_bfloat()) value = round_to_bfloat16(value);
        return exact ? value : select(dim < in.value_dim, value, 0.0f);
    });
}

// A pair of bf16 with zeros for Inf and NaN.
Expr finite_pair(const Expr &pair) {
    auto half = [&](const Expr &all, const Expr &exponent) { return select((pair & exponent) == exponent, Expr(0u), pair & all); };
    return half(Expr(0xffffu), Expr(0x7f80u)) | half(Expr(0xffff0000u), Expr(0x7f800000u));
}

// Integers order |v| as floats do, with Inf and NaN on top, and no floating-point assumption can hide a NaN from them. Where the copies
// hold no such values, v is looked at where the caller has it.
void declare_value_bits(Operands &o, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges,
                        const std::function<Expr(const Expr &)> &source) {
    const bool copied = blocking.values_together == 1;
    // Only of copies what lies beside the task's keys is looked at: there it is multiplied, too.
    const int step = o.value_lanes, depth = copied ? blocking.products.depth() : 1, slack = copied ? blocking.keys_per_panel : 0;
    Halide::Var each("each");
    o.value_steps = RDom(0, Halide::Internal::simplify(o.stored_value_dim / step), 0, blocking.keys_of_panels() / depth, "value_steps");
    only_keys_of_task(o.value_steps, ranges, block * blocking.keys_per_block + o.value_steps.y * depth - slack, copied ? 2 * slack : 1);
    const Expr channel = o.value_steps.x * step + each;
    const Expr given = as_float(in.value(min(channel, in.value_dim - 1), source(o.value_steps.y), head / in.heads_per_group, batch));
    const Expr bits =
        copied ? blocking.products.magnitude_bits(o.value(channel, o.value_steps.y, block, task, head, batch)) : magnitude_bits(given);
    o.value_lane(each, block, task, head, batch) = 0;
    o.value_lane(each, block, task, head, batch) = max(o.value_lane(each, block, task, head, batch), bits);
    Expr all = 0;
    for (int lane = 0; lane < step; lane++)
        all = max(all, o.value_lane(lane, block, task, head, batch));
    o.value_bits(block, task, head, batch) = all;
}

} // namespace

Operands operands(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Expr &padded_value_dim) {
    const Products &products = blocking.products;
    const Expr keys = blocking.keys_per_block, held_keys = blocking.keys_of_panels();
    const int depth = products.depth(), slack = blocking.keys_per_panel, together = blocking.values_together;
    Operands o;
    o.query_lines = Func("query_lines"), o.query = Func("packed_query"), o.key = Func("key_block"), o.value_words = Func("value_words");
    o.value = Func("value_block"), o.value_lane = Func("value_lane"), o.value_bits = Func("value_bits");

    auto query = [&](const Expr &channel) { return in.query_channel(channel, query_of(in, blocking, row), head, batch); };
    o.query_lines(dim, row, tile, head, batch) = packed_channel(in, products, in.query, dim, query);
    o.query(row, dim, tile, head, batch) = scaled_query(in, blocking, o.query_lines(dim, row, tile, head, batch));

    const int vector = blocking.value_lanes;
    o.stored_value_dim =
        is_const(padded_value_dim) ? padded_value_dim : Halide::Internal::simplify((padded_value_dim + vector - 1) / vector * vector);
    o.value_lanes = can_prove(o.stored_value_dim % vector == 0) ? vector : blocking.value_step;
    // Whole panels are copied, so a few keys on either side of the task's own come along. Past the last key it is repeated: its
    // scores are masked. Only what is needed is defined.
    auto source = [&](const Expr &k) { return min(Halide::likely(block * keys + k), in.keys - 1); };
    const auto of_task = [&](const Expr &begin, int count) { return is_of_task(ranges, begin - slack, count - 1 + 2 * slack); };
    o.key(dim, key, block, task, head, batch) = defined_if(
        of_task(block * keys + key, 1),
        packed_channel(in, products, in.key, dim, [&](const Expr &channel) { return in.key_channel(channel, source(key), head, batch); }));
    const Expr packed = packed_value(in, blocking, padded_value_dim, source, key);
    o.value_words(dim, key, block, task, head, batch) = together > 1 ? finite_pair(packed) : packed;
    const Expr value = o.value_words(dim, key, block, task, head, batch), first = block * keys + key / together * (together * depth);
    o.value(dim, key, block, task, head, batch) = defined_if(of_task(first, together * depth), value);
    declare_value_bits(o, in, blocking, ranges, source);
    return o;
}

namespace {

// What of the table of relative biases a tile and a block can need, so that a row's neighbours read neighbours of it: distance
// x - (keys of its panels - 1) between the tile's first query and the block's first key stands at x.
void declare_relative_window(Scores &s, const AttentionInputs &in, const Blocking &blocking) {
    Halide::Var distance("distance");
    Expr first = tile * blocking.rows_per_tile - block * blocking.keys_per_block - (blocking.keys_of_panels() - 1);
    Expr index = clamp(first + distance + in.keys - 1, 0, in.queries + in.keys - 2);
    s.relative_window(distance, tile, block, head, batch) = defined_if(in.use_relative != 0, in.relative(index, head, batch));
}

// Keys of partial panels with the gaps of the run-time mask between: (lane, gap, slot).
RDom gaps_of_tile(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels) {
    RDom r(0, blocking.keys_per_panel, 0, in.intervals.count + 1, 0, blocking.panels_per_block(), "interval_keys");
    r.where(listed(panels, Panels::full_count) <= r.z && r.z < listed(panels, Panels::listed_count));
    Expr begin = block * blocking.keys_per_block + listed_key(blocking, panels, r.z);
    const auto range = ranges.gap_range(r.y, tile, head, batch);
    r.where(range[KeyRanges::first] < begin + blocking.keys_per_panel && range[KeyRanges::end] > begin);
    return r;
}

} // namespace

Scores scores(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels, const Operands &operands,
              const NextTaskMemory &next) {
    const int panel_keys = blocking.keys_per_panel;
    const Expr always = Halide::Internal::const_true();
    auto all_keys = [&](const char *name, const Expr &used) { return listed_keys(blocking, panels, name, used); };
    auto partial_keys = [&](const char *name, const Expr &used) {
        RDom r = listed_keys(blocking, panels, name, used);
        r.where(r.y >= listed(panels, Panels::full_count));
        return r;
    };
    Scores s;
    s.dot = Func("dot"), s.relative_window = Func("relative_window"), s.masked = Func("score");
    s.dims = RDom(0, blocking.products.packed(in.head_dim), "dims");
    auto at = [&](const Expr &slot_key) -> Halide::FuncRef { return s.masked(row, slot_key, tile, block, head, batch); };
    auto stored = [&](const RDom &r) -> Halide::FuncRef { return at(r.y * panel_keys + r.x); };
    auto in_block = [&](const RDom &r) { return listed_key(blocking, panels, r.y) + r.x; };
    // The cell's key is clamped for reading tensors: past the last key the run-time mask has the say, and never allows.
    auto cell = [&](const RDom &r) {
        return Cell{batch, head, query_of(in, blocking, row), min(block * blocking.keys_per_block + in_block(r), in.keys - 1)};
    };
    const Halide::Var slot("slot");
    const auto add_product = [&](const Expr &sum, const Expr &d, const Expr &lane, const Expr &slot) {
        // What comes of asking is 0, and makes no difference.
        Expr begin = listed_key(blocking, panels, slot);
        if (blocking.asks_ahead) begin = clamp(begin + next.asked(slot, tile, block, head, batch), 0, blocking.keys_per_block);
        return blocking.products.add(sum, operands.query(row, d, tile, head, batch),
                                     operands.key(d, begin + lane, block, tile / blocking.tiles_per_task, head, batch));
    };
    auto dot = [&]() -> Halide::FuncRef { return s.dot(row, lane, slot, tile, block, head, batch); };
    if (!blocking.scores_in_place) {
        if (blocking.first_rows > 0) s.dims.where(multiplies(blocking, panels, slot));
        // The others are masked, so that the 0 they begin with does.
        if (blocking.few_keys > 0) s.dims.where(lane < blocking.few_keys || keys_left(blocking, ranges, panels, slot) > blocking.few_keys);
        dot() = 0.0f;
        dot() = add_product(dot(), s.dims, lane, slot);
    }

    // Each stage runs only where it has something to do, so what is not asked for costs nothing.
    const Expr of_slot = key / panel_keys;
    const Expr product = blocking.scores_in_place ? Expr(0.0f) : Expr(s.dot(row, key % panel_keys, of_slot, tile, block, head, batch));
    at(key) = defined_if(of_slot < listed(panels, Panels::listed_count), product);
    if (blocking.scores_in_place) {
        RDom terms(0, panel_keys, 0, s.dims.x.extent(), 0, blocking.panels_per_block(), "multiply_keys");
        terms.where(terms.z < listed(panels, Panels::listed_count));
        const Expr at_term = terms.z * panel_keys + terms.x;
        at(at_term) = add_product(at(at_term), terms.y, terms.x, terms.z);
        s.updates.push_back({Scores::multiply, terms});
    }
    // The first stage that changes scores gives those of pairs their scale.
    Expr is_scaled = blocking.products.pairs ? Halide::Internal::const_false() : always;
    auto scaled = [&](const RDom &r, const Expr &used) {
        Expr score = stored(r) * select(is_scaled, 1.0f, abs(in.scale));
        is_scaled = is_scaled || used;
        return score;
    };

    const Expr use_cap = in.softcap > 0.0f, use_relative = in.use_relative != 0, use_bias = in.use_bias != 0;
    const RDom cap = all_keys("cap_keys", use_cap);
    stored(cap) = softcap(scaled(cap, use_cap), in.softcap);
    s.updates.push_back({Scores::cap, cap});

    declare_relative_window(s, in, blocking);
    const RDom relative = all_keys("relative_keys", use_relative);
    stored(relative) = scaled(relative, use_relative) +
                       s.relative_window(row + blocking.keys_of_panels() - 1 - in_block(relative), tile, block, head, batch);
    s.updates.push_back({Scores::relative, relative});

    const RDom bias = all_keys("score_bias_keys", use_bias);
    stored(bias) = add_bias(scaled(bias, use_bias), panels.bias.rows(row, in_block(bias), tile, block, head, batch));
    s.updates.push_back({Scores::bias, bias});

    if (in.score) {
        const RDom own = all_keys("own_keys", always);
        stored(own) = (*in.score)(scaled(own, always), cell(own));
        s.updates.push_back({Scores::own, own});
    }

    s.unchanged = select(use_cap || use_relative || use_bias || bool(in.score), 0, listed(panels, Panels::full_count));
    const RDom attend = partial_keys("score_attend_keys", in.mask ? always : in.use_attend != 0);
    Expr attended = attending_bit(panels, row, in_block(attend));
    if (in.mask) attended = branch(in.use_attend != 0, attended, 1);
    const Expr allowed = in.mask ? attended != 0 && in.mask->allows(cell(attend)) : attended != 0;
    stored(attend) = mask_score(stored(attend), allowed);
    s.updates.push_back({Scores::attend, attend});

    const RDom gaps = gaps_of_tile(in, blocking, ranges, panels);
    Expr gap_key = block * blocking.keys_per_block + listed_key(blocking, panels, gaps.z) + gaps.x;
    const auto gap = ranges.gap(row, gaps.y, tile, head, batch);
    Expr in_gap = gap_key >= gap[KeyRanges::first] && gap_key < gap[KeyRanges::end];
    at(gaps.z * panel_keys + gaps.x) = mask_score(at(gaps.z * panel_keys + gaps.x), !in_gap);
    s.updates.push_back({Scores::intervals, gaps});

    return s;
}

} // namespace attune::dsl
