// From packed q and k to masked scores.
#include "dsl/attention/parts.h"
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

// Declares them, stage by stage, in the order in which they change a score. Each stage runs only where it has something to do, so what is
// not asked for costs nothing.
class ScoreStages : BlockParts {
public:
    ScoreStages(const BlockParts &parts, const MemoryAhead &ahead) : BlockParts(parts), ahead(ahead) {
        s.dot = Func("dot"), s.relative_window = Func("relative_window"), s.masked = Func("score"), s.constants = Func("constants");
        s.dims = RDom(0, products.packed(in.head_dim), "dims");
    }

    Scores declared() {
        if (!blocking.scores_in_memory) sum_products();
        begin();
        if (blocking.scores_in_memory) multiply();
        if (products.parts > 1) remultiply();
        if (stage_scales) scale_by_key();
        declare_constants();
        cap();
        add_relative_bias();
        add_bias();
        if (in.score) apply_own();
        s.unchanged =
            select(has_large || use_cap || use_relative || use_bias || (stage_scales || in.score), 0, listed(panels, Panels::full_count));
        mask();
        leave_out_gaps();
        return s;
    }

private:
    const MemoryAhead &ahead;
    const Expr always = Halide::Internal::const_true();
    const Expr use_cap = in.softcap > 0.0f, use_relative = in.use_relative != 0, use_bias = in.use_bias != 0;
    const Halide::Var slot{"slot"};
    const bool stage_scales = blocking.scores_in_memory && scaled_by_key(in, blocking); // whether scale_by_key() scales, or begin()
    Expr has_large =
        Halide::Internal::const_false(); // whether the block has keys, or the tile rows, that are multiplied anew: remultiply()
    Scores s;

    RDom all_keys(const char *name, const Expr &used) const { return listed_keys(blocking, panels, name, used); }
    RDom partial_keys(const char *name, const Expr &used) const {
        RDom r = listed_keys(blocking, panels, name, used);
        r.where(r.y >= listed(panels, Panels::full_count));
        return r;
    }
    Expr slot_key(const Expr &of_slot, const Expr &of_panel) const { return of_slot * blocking.keys_per_panel + of_panel; }
    Halide::FuncRef at(const Expr &slot_key) const { return s.masked(row, slot_key, tile, block, head, batch); }
    Halide::FuncRef stored(const RDom &r) const { return at(slot_key(r.y, r.x)); }
    Expr in_block(const RDom &r) const { return panel_key_in_block(blocking, panels, r.y) + r.x; }
    // The cell's key is clamped for reading tensors: past the last key the run-time mask has the say, and never allows.
    Cell cell(const RDom &r) const {
        return {batch, head, query_of(in, blocking, row), min(block * blocking.keys_per_block + in_block(r), in.keys - 1)};
    }
    void done(Scores::Stage stage, const RDom &r) { s.updates.push_back({stage, r}); }

    Expr query(const Expr &d, int part) const { return operands.query(products.at({row, d, tile, head, batch}, part)); }

    Expr add_product(const Expr &sum, const Expr &d, const Expr &lane, const Expr &slot) const {
        // What comes of asking is 0, and makes no difference.
        Expr begin = panel_key_in_block(blocking, panels, slot);
        if (blocking.asks_ahead) begin = clamp(begin + ahead.asked(slot, tile, block, head, batch), 0, blocking.keys_per_block);
        return products.add_parts(
            sum, [&](int part) { return query(d, part); },
            [&](int part) {
                const Expr key = packed_key(in, blocking, operands, slot, begin, lane, d, part);
                return ahead.block_ahead.defined() ? asking_ahead(in, blocking, operands, ahead, key, slot, lane, d) : key;
            });
    }

    // In registers.
    void sum_products() {
        if (blocking.first_rows > 0) s.dims.where(multiplies(blocking, panels, slot));
        // The others are masked, so that the 0 they begin with does.
        if (blocking.few_keys > 0) s.dims.where(lane < blocking.few_keys || keys_left(blocking, ranges, panels, slot) > blocking.few_keys);
        const auto dot = [&]() -> Halide::FuncRef { return s.dot(row, lane, slot, tile, block, head, batch); };
        dot() = 0.0f;
        dot() = add_product(dot(), s.dims, lane, slot);
    }

    void begin() {
        const Expr of_slot = key / blocking.keys_per_panel, of_panel = key % blocking.keys_per_panel;
        Expr product = blocking.scores_in_memory ? Expr(0.0f) : Expr(s.dot(row, of_panel, of_slot, tile, block, head, batch));
        if (!blocking.scores_in_memory && scaled_by_key(in, blocking))
            product *= key_scale(panel_key_in_block(blocking, panels, of_slot) + of_panel);
        at(key) = defined_if(of_slot < listed(panels, Panels::listed_count), product);
    }
    Expr key_scale(const Expr &of_block) const { return operands.key_scale(of_block, block, blocking.task_of(tile), head, batch); }

    void multiply() {
        RDom terms(0, blocking.keys_per_panel, 0, s.dims.x.extent(), 0, blocking.panels_per_block(), "multiply_keys");
        terms.where(terms.z < listed(panels, Panels::listed_count));
        const auto score = [&]() { return at(slot_key(terms.z, terms.x)); };
        score() = add_product(score(), terms.y, terms.x, terms.z);
        done(Scores::multiply, terms);
    }

    // What tiles make wrong (Operands::key_bits) is multiplied once more, as it is given: all rows with such a key, and such a row with
    // all.
    void remultiply() {
        const Expr of_task = blocking.task_of(tile);
        const auto is_large = [](const Expr &bits) { return bits >= Operands::large_bits; };
        const Expr tile_is_large = is_large(operands.tile_query_bits(tile, head, batch));
        has_large = is_large(operands.key_bits(block, of_task, head, batch)) || tile_is_large;
        RDom terms(0, blocking.keys_per_panel, 0, products.depth() * s.dims.x.extent(), 0, blocking.panels_per_block(), "remultiply_keys");
        const Expr listed_at = panel_key_in_block(blocking, panels, terms.z) + terms.x;
        const Expr key_is_large = is_large(operands.each_key_bits(listed_at, block, of_task, head, batch));
        terms.where(terms.z < select(has_large, listed(panels, Panels::listed_count), 0));
        terms.where(tile_is_large || key_is_large);
        const Expr channel = terms.y, inside = min(channel, in.head_dim - 1);
        const Expr token = min(block * blocking.keys_per_block + listed_at, in.keys - 1);
        const Expr q = in.query_channel(inside, query_of(in, blocking, row), head, batch) * query_scale(in, blocking);
        const Expr product = q * in.key_channel(inside, token, head, batch);
        const auto score = [&]() { return at(slot_key(terms.z, terms.x)); };
        const Expr wrong = is_large(operands.query_bits(row, tile, head, batch)) || key_is_large;
        score() = select(wrong, branch(channel == 0, 0.0f, score()) + select(channel < in.head_dim, product, 0.0f), score());
        done(Scores::remultiply, terms);
    }

    void scale_by_key() {
        const RDom scaled = all_keys("scale_keys", always);
        stored(scaled) = stored(scaled) * key_scale(in_block(scaled));
        done(Scores::scale, scaled);
    }

    Expr constant(Scores::Constant which) const { return s.constants(row, int(which), tile, block, head, batch); }

    // Pairs of q that are rounded don't have the scale: the first of the stages that follow multiplies with it, the others with 1.
    void declare_constants() {
        const Cap own_cap(in.softcap);
        Expr value = select(which == int(Scores::cap_size), own_cap.size, own_cap.reciprocal);
        const std::pair<Scores::Constant, Expr> scaled_already[] = {{Scores::before_cap, Halide::Internal::const_false()},
                                                                    {Scores::before_relative, use_cap},
                                                                    {Scores::before_bias, use_cap || use_relative},
                                                                    {Scores::before_own, use_cap || use_relative || use_bias}};
        for (const auto &[constant, already] : scaled_already)
            if (products.rounds()) value = select(which == int(constant), select(already, 1.0f, abs(in.scale)), value);
        s.constants(row, which, tile, block, head, batch) = value;
    }
    Expr scaled(const RDom &r, Scores::Constant factor) const { return products.rounds() ? stored(r) * constant(factor) : Expr(stored(r)); }

    void cap() {
        const RDom capped = all_keys("cap_keys", use_cap);
        stored(capped) = softcap(scaled(capped, Scores::before_cap), {constant(Scores::cap_size), constant(Scores::cap_reciprocal)});
        done(Scores::cap, capped);
    }

    void add_relative_bias() {
        declare_relative_window(s, in, blocking);
        const RDom biased = all_keys("relative_keys", use_relative);
        const Expr distance = row + blocking.keys_of_panels() - 1 - in_block(biased);
        stored(biased) = scaled(biased, Scores::before_relative) + s.relative_window(distance, tile, block, head, batch);
        done(Scores::relative, biased);
    }

    void add_bias() {
        const RDom biased = all_keys("score_bias_keys", use_bias);
        const Expr bias = panels.bias.rows(row, in_block(biased), tile, block, head, batch);
        stored(biased) = dsl::add_bias(scaled(biased, Scores::before_bias), bias);
        done(Scores::bias, biased);
    }

    void apply_own() {
        const RDom own = all_keys("own_keys", always);
        stored(own) = (*in.score)(scaled(own, Scores::before_own), cell(own));
        done(Scores::own, own);
    }

    void mask() {
        const RDom attend = partial_keys("score_attend_keys", in.mask ? always : in.use_attend != 0);
        Expr attended = attending_bit(panels, row, in_block(attend));
        if (in.mask) attended = branch(in.use_attend != 0, attended, 1);
        const Expr allowed = in.mask ? attended != 0 && in.mask->allows(cell(attend)) : attended != 0;
        stored(attend) = mask_score(stored(attend), allowed);
        done(Scores::attend, attend);
    }

    // Of the run-time mask.
    void leave_out_gaps() {
        const RDom gaps = gaps_of_tile(in, blocking, ranges, panels);
        const Expr gap_key = first_key(blocking, panels, gaps.z) + gaps.x;
        const auto gap = ranges.gap(row, gaps.y, tile, head, batch);
        const Expr in_gap = gap_key >= gap[KeyRanges::first] && gap_key < gap[KeyRanges::end];
        const auto score = [&]() { return at(slot_key(gaps.z, gaps.x)); };
        score() = mask_score(score(), !in_gap);
        done(Scores::intervals, gaps);
    }
};

} // namespace

Scores scores(const BlockParts &parts, const MemoryAhead &ahead) { return ScoreStages(parts, ahead).declared(); }

} // namespace attune::dsl
