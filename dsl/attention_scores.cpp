// From packed q and k to masked scores.
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
    Expr begin = first_key(blocking, panels, r.z);
    const auto range = ranges.gap_range(r.y, tile, head, batch);
    r.where(range[KeyRanges::first] < begin + blocking.keys_per_panel && range[KeyRanges::end] > begin);
    return r;
}

} // namespace

Scores scores(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels, const Operands &operands,
              const MemoryAhead &ahead) {
    const int panel_keys = blocking.keys_per_panel;
    const Products &products = blocking.products;
    const Expr always = Halide::Internal::const_true();
    auto all_keys = [&](const char *name, const Expr &used) { return listed_keys(blocking, panels, name, used); };
    auto partial_keys = [&](const char *name, const Expr &used) {
        RDom r = listed_keys(blocking, panels, name, used);
        r.where(r.y >= listed(panels, Panels::full_count));
        return r;
    };
    Scores s;
    s.dot = Func("dot"), s.relative_window = Func("relative_window"), s.masked = Func("score"), s.cap_in_memory = Func("cap");
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
        if (blocking.asks_ahead) begin = clamp(begin + ahead.asked(slot, tile, block, head, batch), 0, blocking.keys_per_block);
        return products.add_parts(
            sum,
            [&](int part) {
                return operands.query(products.at({row, d, tile, head, batch}, part));
            },
            [&](int part) {
                const Expr key = packed_key(in, blocking, operands, slot, begin, lane, d, part);
                return ahead.block_ahead.defined() ? asking_ahead(in, blocking, operands, ahead, key, slot, lane, d) : key;
            });
    };
    auto dot = [&]() -> Halide::FuncRef { return s.dot(row, lane, slot, tile, block, head, batch); };
    if (!blocking.scores_in_memory) {
        if (blocking.first_rows > 0) s.dims.where(multiplies(blocking, panels, slot));
        // The others are masked, so that the 0 they begin with does.
        if (blocking.few_keys > 0) s.dims.where(lane < blocking.few_keys || keys_left(blocking, ranges, panels, slot) > blocking.few_keys);
        dot() = 0.0f;
        dot() = add_product(dot(), s.dims, lane, slot);
    }

    // Each stage runs only where it has something to do, so what is not asked for costs nothing.
    const Expr of_slot = key / panel_keys;
    const Expr product = blocking.scores_in_memory ? Expr(0.0f) : Expr(s.dot(row, key % panel_keys, of_slot, tile, block, head, batch));
    at(key) = defined_if(of_slot < listed(panels, Panels::listed_count), product);
    if (blocking.scores_in_memory) {
        RDom terms(0, panel_keys, 0, s.dims.x.extent(), 0, blocking.panels_per_block(), "multiply_keys");
        terms.where(terms.z < listed(panels, Panels::listed_count));
        const Expr at_term = terms.z * panel_keys + terms.x;
        at(at_term) = add_product(at(at_term), terms.y, terms.x, terms.z);
        s.updates.push_back({Scores::multiply, terms});
    }
    Expr spoilt = Halide::Internal::const_false();
    if (products.parts > 1) {
        // Of a key that is Inf the products of parts are NaN, or infinite with the wrong sign.
        const Expr of_task = blocking.task_of(tile);
        spoilt = operands.key_bits(block, of_task, head, batch) >= Operands::infinite_bits;
        const auto is_spoilt = [&](const Expr &slot, const Expr &lane) {
            return operands.each_key_bits(listed_key(blocking, panels, slot) + lane, block, of_task, head, batch) >=
                   Operands::infinite_bits;
        };
        RDom terms(0, panel_keys, 0, products.depth() * s.dims.x.extent(), 0, blocking.panels_per_block(), "remultiply_keys");
        terms.where(terms.z < select(spoilt, listed(panels, Panels::listed_count), 0));
        terms.where(is_spoilt(terms.z, terms.x));
        const Expr at_term = terms.z * panel_keys + terms.x, word = terms.y / products.depth(), nth = terms.y % products.depth();
        const Expr q = products.number([&](int part) { return operands.query(products.at({row, word, tile, head, batch}, part)); }, nth);
        // Of the key as it is given, and not of parts: of Inf they are NaN.
        const Expr channel = word + nth * s.dims.x.extent(), listed_at = listed_key(blocking, panels, terms.z) + terms.x;
        const Expr token = min(block * blocking.keys_per_block + listed_at, in.keys - 1);
        const Expr k = in.key_channel(min(channel, in.head_dim - 1), token, head, batch);
        at(at_term) = branch(terms.y == 0, 0.0f, at(at_term)) + q * select(channel < in.head_dim, k, 0.0f);
        s.updates.push_back({Scores::remultiply, terms});
    }
    const Expr use_cap = in.softcap > 0.0f, use_relative = in.use_relative != 0, use_bias = in.use_bias != 0;
    // Pairs of q that are rounded don't have the scale. A factor in each stage that follows, 1 where it isn't the first, would be held in a
    // register through the products, of which those of 128 channels have none left.
    if (products.rounds()) {
        const RDom scale = all_keys("scale_keys", in.changes_scores() && !use_cap);
        stored(scale) = stored(scale) * abs(in.scale);
        s.updates.push_back({Scores::scale, scale});
    }

    const RDom cap = all_keys("cap_keys", use_cap);
    const auto in_memory = [&](Scores::CapInMemory which) { return s.cap_in_memory(row, int(which), tile, block, head, batch); };
    const Cap own_cap(in.softcap);
    s.cap_in_memory(row, which, tile, block, head, batch) = select(which == int(Scores::cap_size), own_cap.size, own_cap.reciprocal);
    stored(cap) = softcap(products.rounds() ? stored(cap) * abs(in.scale) : stored(cap),
                          {in_memory(Scores::cap_size), in_memory(Scores::cap_reciprocal)});
    s.updates.push_back({Scores::cap, cap});

    declare_relative_window(s, in, blocking);
    const RDom relative = all_keys("relative_keys", use_relative);
    stored(relative) =
        stored(relative) + s.relative_window(row + blocking.keys_of_panels() - 1 - in_block(relative), tile, block, head, batch);
    s.updates.push_back({Scores::relative, relative});

    const RDom bias = all_keys("score_bias_keys", use_bias);
    stored(bias) = add_bias(stored(bias), panels.bias.rows(row, in_block(bias), tile, block, head, batch));
    s.updates.push_back({Scores::bias, bias});

    if (in.score) {
        const RDom own = all_keys("own_keys", always);
        stored(own) = (*in.score)(stored(own), cell(own));
        s.updates.push_back({Scores::own, own});
    }

    s.unchanged = select(spoilt || use_cap || use_relative || use_bias || bool(in.score), 0, listed(panels, Panels::full_count));
    const RDom attend = partial_keys("score_attend_keys", in.mask ? always : in.use_attend != 0);
    Expr attended = attending_bit(panels, row, in_block(attend));
    if (in.mask) attended = branch(in.use_attend != 0, attended, 1);
    const Expr allowed = in.mask ? attended != 0 && in.mask->allows(cell(attend)) : attended != 0;
    stored(attend) = mask_score(stored(attend), allowed);
    s.updates.push_back({Scores::attend, attend});

    const RDom gaps = gaps_of_tile(in, blocking, ranges, panels);
    Expr gap_key = first_key(blocking, panels, gaps.z) + gaps.x;
    const auto gap = ranges.gap(row, gaps.y, tile, head, batch);
    Expr in_gap = gap_key >= gap[KeyRanges::first] && gap_key < gap[KeyRanges::end];
    at(gaps.z * panel_keys + gaps.x) = mask_score(at(gaps.z * panel_keys + gaps.x), !in_gap);
    s.updates.push_back({Scores::intervals, gaps});

    return s;
}

} // namespace attune::dsl
