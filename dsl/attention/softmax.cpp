// From masked scores to the softmax state of a block, and the fold of the blocks' states.
#include "dsl/softmax.h"

#include <limits>

#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/word_powers.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

// Declares it, stage by stage: each reads what those before it declared.
class BlockStateStages : BlockParts {
public:
    BlockStateStages(const BlockParts &parts, const Scores &scores) : BlockParts(parts), scores(scores) {
        b.lane_maximum = Func("lane_maximum"), b.maximum = Func("block_maximum"), b.weight = Func("weight");
        b.exponent = Func("exponent"), b.any_wide = Func("any_wide_exponent");
        b.lane_sum = Func("lane_sum"), b.sum = Func("block_sum"), b.kept = Func("kept"), b.kept_weight = Func("kept_weight"),
        b.output = Func("block_output");
    }

    BlockState declared() {
        take_maximum();
        weigh();
        add_up();
        decide_kept();
        multiply();
        return b;
    }

private:
    const Scores &scores;
    const int panel_keys = blocking.keys_per_panel, depth = products.depth(), packed_keys = panel_keys / depth;
    // Maxima and sums are kept in lanes apart, so that no step waits for the one before.
    const int apart = blocking.lanes_apart > 0 ? blocking.lanes_apart : panel_keys, sums_apart = std::min(apart, packed_keys);
    // What multiplies tiles has weights without the dropped ones in memory; else these are left out as they are multiplied.
    const bool dropped_before = blocking.scores_in_memory;
    // Copies that hold finite values alone are multiplied in any case.
    const bool finite_copies = blocking.values_together > 1;
    const Expr dropout = in.dropout.used();
    const Expr largest_value = operands.value_bits(block, blocking.task_of(tile), head, batch);
    // Of numbers in parts, whether all are so small that tiles would lose digits of them.
    const Expr all_small = products.parts > 1 ? largest_value > 0 && largest_value < Operands::small_bits : Halide::Internal::const_false();
    // Whether the products need no look at each value.
    const Expr all_sound = largest_value < operands.least_spoilt_bits && !all_small;
    BlockState b;

    RDom keys(const char *name, const Expr &used, int per) const { return listed_keys(blocking, panels, name, used, per); }
    RDom slots(const char *name, int per) const { return keys(name, Halide::Internal::const_true(), per); }
    Expr slot_key(const RDom &r, int per) const { return r.y * (panel_keys / per) + r.x; }
    Expr score(const Expr &k) const { return scores.masked(row, k, tile, block, head, batch); }
    Halide::FuncRef weight(const Expr &k, const Expr &part) const {
        return b.weight(products.at({row, k, tile, block, head, batch}, part));
    }
    Halide::FuncRef by_lane(const Func &f, const Expr &l) const { return f(row, l, tile, block, head, batch); }
    Halide::FuncRef over_all(const Func &f) const { return f(row, tile, block, head, batch); }

    // Of a NaN score nothing, where weights are made as words: those of a score above the maximum would be of any size.
    Expr larger(const Expr &maximum, const Expr &score) const {
        return blocking.weights_as_words ? select(strict_less(maximum, score), score, maximum) : max(maximum, score);
    }

    void take_maximum() {
        by_lane(b.lane_maximum, lane) = masked_score();
        const auto score_of = [&](const RDom &r) { return score(r.y * panel_keys + r.x * apart + lane); };
        b.maximum_slots = slots("maximum_slots", apart);
        if (blocking.maxima_with_scores) {
            // All slots, since the loop over them is that of the scores: of those that something changes the maximum is taken when it has.
            b.unchanged_slots = slots("unchanged_slots", apart);
            const Expr is_unchanged = b.unchanged_slots.y < scores.unchanged;
            Expr looked_at = score_of(b.unchanged_slots);
            // Beside products that are added up in memory, by few instructions, a branch costs less than a selection for each vector. Cast,
            // the condition can't be solved for the slot, and so become a bound of its loop.
            if (blocking.scores_in_memory)
                b.unchanged_slots.where(cast<uint8_t>(is_unchanged) != 0);
            else
                looked_at = select(is_unchanged, looked_at, masked_score());
            by_lane(b.lane_maximum, lane) = larger(by_lane(b.lane_maximum, lane), looked_at);
            b.maximum_slots.where(b.maximum_slots.y >= scores.unchanged);
        }
        by_lane(b.lane_maximum, lane) = larger(by_lane(b.lane_maximum, lane), score_of(b.maximum_slots));
        // As updates, since of one expression the compiler makes sums in another order.
        b.lanes = RDom(0, apart, "lanes"), b.sum_lanes = RDom(0, sums_apart, "sum_lanes");
        over_all(b.maximum) = masked_score();
        over_all(b.maximum) = max(over_all(b.maximum), by_lane(b.lane_maximum, b.lanes));
    }

    void weigh() {
        const auto of_exponent = [&](const Expr &one) -> Halide::FuncRef { return b.exponent(row, one, tile, block, head, batch); };
        if (products.rounds()) of_exponent(which) = exponent(which, over_all(b.maximum), exponent_scale(in, blocking));
        const auto pair_weight = [&](const Expr &key) {
            return exp2_half_to_bfloat16(score(key) * of_exponent(BlockState::row_scale) - of_exponent(BlockState::row_reference));
        };
        if (blocking.weights_as_words) find_wide_exponents();
        const auto word_exponent = [&](const Expr &key) {
            return WordExponent::clamped(score(key) * of_exponent(BlockState::word_scale) + of_exponent(BlockState::word_offset));
        };
        const auto number_weight = [&](const Expr &key) { return weight_in_block(in, blocking, score(key), over_all(b.maximum)); };
        const auto packed_weight = [&](int nth_part) {
            if (!products.pairs) return number_weight(key);
            const Expr packed = products.pack([&](int nth) {
                const Expr k = 2 * key + nth;
                return products.rounds() ? pair_weight(k) : part_of_float(number_weight(k), nth_part);
            });
            if (!blocking.weights_as_words) return packed;
            const Expr words = word_powers(word_exponent(2 * key), word_exponent(2 * key + 1));
            // By row, so that no bit of a row depends on the others of its tile.
            return branch(b.any_wide(tile, block, head, batch) != 0, select(is_wide(row), packed, words), words);
        };
        // Nothing is multiplied with those of other rows than these; their sum isn't 0, so that they don't seem starved.
        const Expr weights = of_part(products, packed_weight), one = products.pack([](int) { return Expr(1.0f); });
        weight(key, part) =
            defined_if(key < listed(panels, Panels::listed_count) * packed_keys, branch(is_multiplied(in, blocking, row), weights, one));
    }

    // Whether words don't do for a row: its largest exponent is too large for them, Inf or NaN, or its scale one that where the caller has
    // denormals count as 0 would make NaN of a masked score.
    Expr is_wide(const Expr &of_row) const {
        const auto constant = [&](BlockState::Exponent which) { return b.exponent(of_row, int(which), tile, block, head, batch); };
        const float least_normal = std::numeric_limits<float>::min();
        return !(strict_less(abs(constant(BlockState::row_reference)), WordExponent::most) &&
                 constant(BlockState::word_scale) >= least_normal);
    }
    void find_wide_exponents() {
        b.exponent_rows = RDom(0, blocking.rows_per_tile, "exponent_rows");
        const auto any = [&]() -> Halide::FuncRef { return b.any_wide(tile, block, head, batch); };
        any() = 0;
        any() = max(any(), select(is_wide(b.exponent_rows), 1, 0));
    }

    // Of the weights as the product takes them, so that rounding them cancels.
    void add_up() {
        b.sum_slots = slots("sum_slots", depth * sums_apart);
        by_lane(b.lane_sum, lane) = 0.0f;
        const Expr one = products.pack([](int) { return Expr(1.0f); });
        const Expr summed = b.sum_slots.y * packed_keys + b.sum_slots.x * sums_apart + lane;
        Expr sum = by_lane(b.lane_sum, lane);
        for (int i = products.parts - 1; i >= 0; i--)
            sum = products.add(sum, weight(summed, i), one);
        by_lane(b.lane_sum, lane) = sum;
        over_all(b.sum) = 0.0f;
        over_all(b.sum) += by_lane(b.lane_sum, b.sum_lanes);
    }

    // Of whole counters of the generator, each of whose words is a key's: so that where four are made one after the other, the compiler
    // makes their counter's words once. (Not where a branch is between them: a schedule specializes.) Where values aren't finite, all keys
    // are kept rather than not asked about: a branch between a product and its addition would keep them from being fused, as those of the
    // other stages are.
    void decide_kept() {
        const int of_counter = Dropout::keys_of_counter, of_panel = blocking.kept_per_panel() / of_counter;
        const Expr slot = key / of_counter / of_panel, nth = key / of_counter % of_panel, begin = first_key(blocking, panels, slot);
        const Cell cell{batch, head, query_of(in, blocking, row), (begin / of_counter + nth) * of_counter + key % of_counter};
        // The last has keys of the panel only where that doesn't begin with a counter's first.
        const Expr counters = select(dropout || !all_sound, listed(panels, Panels::listed_count) * of_panel, 0);
        const Expr has_keys = nth * of_counter < begin % of_counter + panel_keys;
        b.kept(row, key, tile, block, head, batch) =
            defined_if(key / of_counter < counters && has_keys, select(dropout, in.dropout.keeps(cell), 1.0f));
    }
    Expr kept(const Expr &slot, const Expr &nth) const {
        const Expr place = slot * blocking.kept_per_panel() + first_key(blocking, panels, slot) % Dropout::keys_of_counter + nth;
        return b.kept(row, place, tile, block, head, batch);
    }

    // Sum of weight * v. Weight 0 times a finite value is 0, so the mask needs no look there. Where a value isn't finite it does: 0 * NaN
    // is NaN.
    void multiply() {
        const Expr multiplied = finite_copies ? !all_small : all_sound;
        b.careful_keys = keys("careful_keys", !all_sound, 1);
        if (dropped_before)
            leave_out_dropped();
        else
            b.dropped_keys = keys("dropped_keys", multiplied && dropout, depth);
        output() = 0.0f;
        add_products(dropped_before ? multiplied : multiplied && !dropout);
        if (!dropped_before) add_kept_products();
        add_carefully();
    }
    Halide::FuncRef output() const { return b.output(row, dim, tile, block, head, batch); }
    /** The value of key, or pair of keys, x of the panel listed at a slot. */
    Expr value(const Expr &slot, const Expr &x, const Expr &part) const { return packed_value(blocking, operands, panels, slot, x, part); }

    void leave_out_dropped() {
        const auto without_dropped = [&](int part) {
            return products.pack([&](int which) {
                const Expr is_kept = kept(key / packed_keys, key % packed_keys * depth + which);
                return select(strict_equal(is_kept, 0.0f), 0.0f, products.unpack(weight(key, part), which));
            });
        };
        const Expr all = select(dropout, listed(panels, Panels::listed_count) * packed_keys, 0);
        kept_weight(key, part) = defined_if(key < all, of_part(products, without_dropped));
    }
    Halide::FuncRef kept_weight(const Expr &k, const Expr &part) const {
        return b.kept_weight(products.at({row, k, tile, block, head, batch}, part));
    }

    void add_products(const Expr &used) {
        const auto multiplied_weight = [&](const Expr &k, int part) -> Expr {
            return dropped_before ? select(dropout, kept_weight(k, part), weight(k, part)) : Expr(weight(k, part));
        };
        for (const SlotsOfRows &slots : slots_of_rows(blocking, panels)) {
            RDom r(0, packed_keys, 0, blocking.panels_per_block(), "finite_keys_" + std::to_string(b.finite_keys.size()));
            r.where(slots.begin <= r.y && r.y < select(used, slots.end, 0));
            r.where(slots.rows);
            const int at_once = blocking.values_at_once;
            if (blocking.few_keys > 0) r.where(r.x / at_once * (at_once * depth) < keys_left(blocking, ranges, panels, r.y));
            output() = products.add_parts(
                output(), [&](int part) { return multiplied_weight(slot_key(r, depth), part); },
                [&](int part) { return value(r.y, r.x, part); });
            b.finite_keys.push_back(r);
        }
    }

    void add_kept_products() {
        const RDom &r = b.dropped_keys;
        const auto weight_if_kept = [&](int part) {
            return products.pack(
                [&](int which) { return products.unpack(weight(slot_key(r, depth), part), which) * kept(r.y, r.x * depth + which); });
        };
        output() = products.add_parts(output(), weight_if_kept, [&](int part) { return value(r.y, r.x, part); });
    }

    // Of copies that hold finite values alone, the values that aren't, as they are given, or all if these are small; else all.
    void add_carefully() {
        // The second key of a pair first, as the instruction for pairs adds them up.
        const Expr slot = b.careful_keys.y, nth = b.careful_keys.x;
        const Expr in_panel = products.pairs ? clamp(nth + 1 - 2 * (nth % 2), 0, panel_keys - 1) : nth;
        const Expr careful = slot * panel_keys + in_panel, is_kept = kept(slot, in_panel);
        const Expr kept_weight = products.number([&](int part) { return weight(careful / depth, part); }, careful % depth) * is_kept;
        if (!finite_copies) {
            const Expr careful_value = products.unpack(value(slot, in_panel / depth, 0), in_panel % depth);
            output() += kept_weight * guarded_value(careful_value, score(careful), is_kept);
            return;
        }
        const Expr token = min(first_key(blocking, panels, slot) + in_panel, in.keys - 1);
        const Expr given = as_float(in.value(min(dim, in.value_dim - 1), token, head / in.heads_per_group, batch));
        const Expr with = output() + kept_weight * guarded_value(given, score(careful), is_kept);
        output() = select(all_small || magnitude_bits(given) >= operands.least_spoilt_bits, with, output());
    }
};

} // namespace

BlockState block_state(const BlockParts &parts, const Scores &scores) { return BlockStateStages(parts, scores).declared(); }

} // namespace attune::dsl
