// Flash attention for x86: the scores of one tile of queries and one block of keys at a time, in cache.
//
// The scores are kept transposed, queries side by side in vectors. So q is packed once a task and k and v are only copied; maxima, sums
// and exponentials work on whole vectors; the second product broadcasts v, whose channels lie side by side. Only queries and outputs are
// turned.
//
// With AMX both products are of tiles, of bf16, and by flash_bf16x3 and flash_bf16x2 of f32 and f16, as three and two of bf16.
#include "dsl/axes.h"
#include "schedules/bounds.h"
#include "schedules/schedules.h"
#include "schedules/x86/loops.h"
#include "schedules/x86/sixteen_bits.h"
#include "schedules/x86/tile_products.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

const Var task_group{"task_group"}, task_tile{"task_tile"}, in_task{"in_task"};
const Var outer{"outer"}, inner{"inner"}, dim_outer{"dim_outer"}, dim_inner{"dim_inner"}, row_outer{"row_outer"}, row_inner{"row_inner"};

class Flash {
public:
    Flash(const dsl::Attention &attention, const Machine &machine)
        : a(attention), machine(machine), lanes(machine.float_lanes), rows(attention.blocking.rows_per_tile) {}

    void apply() {
        results();
        ranges();
        panels();
        packed_query();
        state();
        key_and_value_blocks();
        scores();
        block_state();
        storage();
    }

private:
    const dsl::Attention &a;
    const Machine &machine;
    const int lanes, rows;

    Func tasks() const { return a.output; } // its loop over groups of tasks is the parallel one

    // Without AVX a step of the output has no register to spare. Measured on Zen 4: of widths that aren't compiled in LLVM stores one of
    // its sums where there is another loop around, 10 % more time at 128 tokens.
    Halide::Expr heads_at_a_time() const { return machine.float_lanes >= 8 ? a.blocking.heads_at_a_time : Halide::Expr(1); }

    // Whether the extent is known, and fills vectors.
    bool in_whole_vectors(const Halide::Expr &extent) const {
        const auto known = Halide::Internal::as_const_int(Halide::Internal::simplify(extent));
        return known && *known % lanes == 0;
    }

    Halide::Expr packed(const Halide::Expr &keys) const { return a.blocking.products.packed(keys); }

    bool tiled() const { return a.blocking.scores_in_memory; } // the only products that are made there

    // Vectors of an axis; of numbers in parts all of a vector, one after the other, while what they are made of is in registers.
    void vectorize(Func f, const Var &axis, bool whole) const {
        const Var step("step"), in_step("in_step");
        f.split(axis, step, in_step, lanes, TailStrategy::GuardWithIf).vectorize(in_step);
        if (whole) f.unroll(step);
        if (a.blocking.products.parts == 1) return;
        std::vector<Halide::VarOrRVar> order = {in_step, part, step};
        for (const Var &other : f.args())
            if (other.name() != axis.name() && other.name() != part.name()) order.emplace_back(other);
        f.bound(part, 0, a.blocking.products.parts).reorder(order).unroll(part);
    }

    void per_task(Func f) const {
        only_one(f, {task});
        f.compute_at(tasks(), task_tile);
    }

    void per_block(Func f) const {
        only_one(f, {task});
        f.compute_at(a.fold.state, a.fold.merge.z).hoist_storage(tasks(), task_tile);
    }

    void per_tile(Func f) const { f.compute_at(a.fold.state, tile).hoist_storage(tasks(), task_tile); }

    void per_slot(Func f) const {
        per_tile(f);
        f.bound_extent(f.args().front(), a.blocking.panels_per_block());
    }

    // What has no place on the stack is allocated once for all tasks of a group. (What has one would lose it there: how many tasks the last
    // group has isn't known.)
    void storage() const {
        const dsl::Operands &o = a.operands;
        const dsl::BlockState &p = a.partial;
        for (Func f : {a.ranges.gap, a.ranges.gap_range, o.query_lines, o.query, o.key, o.value, a.fold.state, a.panels.bias.rows,
                       a.scores.masked, p.weight, p.kept})
            f.hoist_storage(tasks(), task_group);
        if (Func f = p.kept_weight; tiled()) f.hoist_storage(tasks(), task_group);
        for (Func f : {a.ranges.of_tile, a.fold.starved, a.fold.attends})
            f.bound_storage(tile, a.blocking.tiles_per_task);
    }

    void results() const {
        Func output = a.output, closing = a.fold.closing;
        Var tile_outer("tile_outer"), t("t");
        // Rows lie side by side in the state, channels in the output: a tile x vector is turned, by TurnSquares.
        output.split(token, tile, row, rows, TailStrategy::GuardWithIf)
            .split(tile, tile_outer, in_task, a.blocking.tiles_of_task(), TailStrategy::GuardWithIf)
            .split(dim, dim_outer, dim_inner, lanes, TailStrategy::GuardWithIf)
            .reorder(dim_inner, row, dim_outer, in_task, tile_outer, head, batch)
            .vectorize(dim_inner)
            .never_partition(in_task)
            .fuse(tile_outer, head, t)
            .fuse(t, batch, task_tile)
            .split(task_tile, task_group, task_tile, heads_at_a_time(), TailStrategy::GuardWithIf)
            .parallel(task_group);
        closing.compute_at(output, in_task).bound_extent(row, rows);
        only_one(closing, {tile});
        const Var which = closing.args()[1];
        const int counts = a.inputs.count_panels ? 2 : 0;
        closing.bound(which, 0, dsl::Fold::closing_count + counts).reorder(row, which).vectorize(row, lanes).unroll(which);
    }

    void ranges() const {
        const dsl::KeyRanges &r = a.ranges;
        for (Func f : {r.of_tile, r.of_task, r.gap_range, a.fold.starved})
            per_task(f);
        for (Func f : {r.gap, a.fold.attends}) {
            per_task(f);
            f.bound_extent(row, rows).vectorize(row, lanes).never_partition_all();
        }
        Func gap = r.gap;
        if (a.inputs.rows_alike.defined()) gap.specialize(a.inputs.rows_alike); // one load then, and no gather
        // One row after the other they would take 0.5 % of the time of short documents and windows.
        Func gap_range = r.gap_range, of_tile = r.of_tile;
        gap_range.update().atomic().vectorize(r.rows, lanes);
        of_tile.update().atomic().vectorize(r.gaps.x, lanes);
        Func starved = a.fold.starved, attends = a.fold.attends;
        starved.update().atomic().vectorize(a.fold.rows, lanes);
        attends.update().reorder(row, a.fold.cells.x, a.fold.cells.y).vectorize(row, lanes).never_partition_all();
    }

    void panels() const {
        const dsl::Panels &p = a.panels;
        attending();
        turned(p.bias, a.inputs.bias_contiguous);
        Func reach = p.reach, allowed_cells = p.allowed_cells;
        reach.update().atomic().vectorize(p.reached.x);
        allowed_cells.update().atomic().vectorize(p.cells.x);
        for (Func f : {p.reach, p.joined, p.allowed_cells, p.list})
            per_tile(f);
        for (Func f : {p.facts, p.kind}) {
            per_tile(f);
            f.bound_extent(panel, a.blocking.panels_per_block()).vectorize(panel, lanes, TailStrategy::GuardWithIf);
        }
        Func list = p.list;
        list.vectorize(list.args().front(), 4, TailStrategy::RoundUp).update().unroll(p.listing.x);
    }

    void attending() const {
        const dsl::Panels::Attending &attend = a.panels.attend;
        Func words = attend.words;
        per_tile(words);
        const Var word = words.args()[1];
        words.bound_extent(key, a.blocking.keys_of_panels()).bound_extent(word, attend.words_of(rows));
        // One key, one word: that is not seen where the place is only promised.
        words.update(0)
            .allow_race_conditions()
            .reorder(attend.keys.x, attend.keys.y, word)
            .specialize(a.inputs.attend_contiguous)
            .vectorize(attend.keys.x);
        words.update(1).unscheduled();
    }

    // A load of what was just stored in smaller pieces waits for them: hence several rectangles between store and load.
    void turned(const dsl::Panels::Turned &tensor, const Halide::Expr &contiguous) const {
        Func lines = tensor.lines, side_by_side = tensor.rows;
        per_tile(side_by_side);
        // Whole steps, of which the last may go past the keys.
        side_by_side.bound_extent(key, Halide::Internal::simplify(tensor.keys.z.extent() * (tensor.at_once * tensor.width)));
        Halide::Stage update = side_by_side.update();
        update.reorder(tensor.keys.x, row, tensor.keys.y, tensor.keys.z).vectorize(row, lanes).unroll(tensor.keys.x);
        const Var rectangle = lines.args()[2];
        lines.compute_at(side_by_side, tensor.keys.z).bound_extent(key, tensor.width).bound_extent(row, rows);
        lines.bound_extent(rectangle, tensor.at_once).reorder(key, rectangle, row).vectorize(key).unroll(rectangle);
        update.specialize(contiguous);
    }

    void packed_query() const {
        Func query = a.operands.query, lines = a.operands.query_lines;
        per_task(query);
        query.bound_extent(row, rows)
            .split(row, row_outer, row_inner, lanes)
            .reorder(row_inner, dim, row_outer, tile)
            .vectorize(row_inner); // by TurnSquares
        if (a.blocking.products.parts > 1) query.reorder(row_inner, dim, part, row_outer, tile);
        lines.compute_at(query, row_outer).bound_extent(row, lanes);
        only_one(lines, {tile});
        if (a.blocking.products.pairs) lines.bound_extent(dim, a.operands.stored_dims);
        vectorize(lines, dim, in_whole_vectors(a.scores.dims.x.extent()));
        if (!a.operands.query_bits.defined()) return;
        Func bits = a.operands.query_bits, of_tile = a.operands.tile_query_bits;
        per_task(bits), per_task(of_tile);
        bits.bound_extent(row, rows).vectorize(row, lanes).unroll(row);
        bits.update().reorder(row, a.operands.query_words).vectorize(row, lanes).unroll(row);
        of_tile.update().atomic().vectorize(a.operands.query_rows, lanes);
    }

    void state() const {
        Func state = a.fold.state;
        per_task(state);
        state.bound_extent(row, rows).vectorize(row, lanes).unroll(row);
        const Halide::RDom &merge = a.fold.merge;
        state.update().reorder(row, merge.x, merge.y, tile, merge.z, head, batch).vectorize(row, lanes).unroll(row).unroll(merge.x);
        state.update().partition(tile, Halide::Partition::Never).partition(merge.z, Halide::Partition::Never);
    }

    void key_and_value_blocks() const {
        const dsl::Operands &o = a.operands;
        for (Func f : {o.key, o.value, o.value_lane, o.value_bits})
            per_block(f);
        if (o.place.defined()) per_block(o.place), per_slot(o.panel_place);
        for (Func scales : {o.key_scale, o.value_scale})
            if (scales.defined()) {
                per_block(scales);
                scales.bound_extent(key, a.blocking.keys_of_panels());
                by_pages(scales);
            }
        Func keys = o.key, values = o.value;
        keys.bound_extent(key, a.blocking.keys_of_panels());
        values.bound_extent(key, packed(a.blocking.keys_of_panels())).bound_extent(dim, o.stored_value_dim);
        if (a.blocking.products.pairs) keys.bound_extent(dim, o.stored_dims);
        copied(keys);
        if (a.blocking.values_together > 1)
            turned_values();
        else
            copied(values);
        lanes_of_bits(o.value_lane, o.value_lanes);
        const Halide::Stage value_bits = unrolled_bits(o.value_lane, 0, o.value_steps);
        if (a.blocking.values_together > 1) by_pages(value_bits); // else copies are looked at
        if (o.key_bits.defined()) {
            for (Func f : {o.key_lane, o.key_bits, o.each_key_bits})
                per_block(f);
            lanes_of_bits(o.key_lane, lanes);
            bits_of(o.key_lane, 0, o.key_steps);
            Func of_key = o.each_key_bits;
            of_key.bound_extent(key, a.blocking.keys_of_panels()).vectorize(key, lanes);
            of_key.update().reorder(o.key_words, key);
        }
        if (o.values_may_be_in_place) unrolled_bits(o.value_lane, 1, o.given_steps);
    }

    static void lanes_of_bits(Func by_lane, int count) { by_lane.bound_extent(by_lane.args()[0], count).vectorize(by_lane.args()[0]); }
    static Halide::Stage bits_of(Func by_lane, int update, const Halide::RDom &steps) {
        const Var each = by_lane.args()[0];
        return by_lane.update(update).reorder(each, steps.x, steps.y).vectorize(each);
    }
    static Halide::Stage unrolled_bits(const Func &by_lane, int update, const Halide::RDom &steps) {
        Halide::Stage bits = bits_of(by_lane, update, steps);
        if (is_const(Halide::Internal::simplify(steps.x.extent()))) bits.unroll(steps.x);
        return bits;
    }

    // Whole lines of some keys, and then, of each channel, these keys.
    void turned_values() const {
        Func words = a.operands.value_words, values = a.operands.value;
        const Var group("group"), in_group("in_group");
        values.reorder_storage(key, dim)
            .split(key, group, in_group, a.blocking.values_together)
            .split(dim, dim_outer, dim_inner, lanes)
            .reorder(in_group, dim_inner, dim_outer, group)
            .vectorize(in_group); // by TurnSquares
        if (a.blocking.products.parts > 1) values.reorder(in_group, dim_inner, dim_outer, part, group);
        words.compute_at(values, group)
            .hoist_storage(tasks(), task_tile)
            .bound_extent(key, a.blocking.values_together)
            .bound_extent(dim, a.operands.stored_value_dim);
        vectorize(words, dim, false);
        by_pages(values);
    }

    void copied(Func f) const {
        vectorize(f, dim, in_whole_vectors(a.scores.dims.x.extent()) && in_whole_vectors(a.padded_value_dim));
        by_pages(f);
    }

    // Which page holds a token is looked up only where an item has several.
    void by_pages(Halide::Stage reading) const {
        if (a.inputs.pages.several.defined()) reading.specialize(a.inputs.pages.several);
    }

    void scores() const {
        const dsl::Scores &s = a.scores;
        Func masked = s.masked;
        per_tile(s.relative_window);
        per_tile(s.constants);
        Func constants = s.constants;
        const Var which_of_constants = constants.args()[1];
        const int count = a.blocking.products.rounds() ? dsl::Scores::constant_count : dsl::Scores::before_cap;
        constants.bound(which_of_constants, 0, count).bound_extent(row, rows).vectorize(row, lanes);
        Func window = s.relative_window;
        window.vectorize(window.args().front(), lanes, TailStrategy::GuardWithIf);
        per_tile(masked);
        masked.bound_extent(key, a.blocking.keys_per_block);
        const Var slot("slot"), in_slot("in_slot");
        Halide::LoopLevel panels(masked, slot); // over which products are made
        for (int i = 0; i < int(s.updates.size()); i++) {
            const auto &[stage, keys] = s.updates[i];
            if (stage == dsl::Scores::multiply) {
                masked.update(i).reorder(row, keys.x, keys.y, keys.z); // by TileProducts
                panels = Halide::LoopLevel(masked, keys.z);
                continue;
            }
            rows_innermost(masked, i, keys, lanes);
            // Each vector of rows then knows its word of the boolean tensor, and its bits.
            if (stage == dsl::Scores::attend) masked.update(i).unroll(row);
        }
        masked.split(key, slot, in_slot, a.blocking.keys_per_panel, TailStrategy::RoundUp).vectorize(row, lanes);
        if (a.blocking.asks_ahead) {
            per_tile(a.ahead.tokens);
            Func asked = a.ahead.asked;
            asked.compute_at(panels).bound_extent(asked.args()[0], 1).update(0).unscheduled();
            asked.update(1).unscheduled();
            by_pages(asked.update(1));
            if (Func ahead = a.ahead.block_ahead; ahead.defined()) per_slot(ahead), by_pages(ahead);
        }
        if (a.blocking.scores_in_memory) return;
        masked.unroll(row).unroll(in_slot);
        Func dot = s.dot;
        const Var slot_of_dot = dot.args()[2];
        dot.compute_at(masked, slot)
            .store_in(Halide::MemoryType::Register)
            .bound_extent(slot_of_dot, 1)
            .bound_extent(row, rows)
            .bound_extent(lane, a.blocking.keys_per_panel);
        dot.vectorize(row, lanes).unroll(row).unroll(lane);
        dot.update().reorder(row, lane, s.dims).vectorize(row, lanes).unroll(row).unroll(lane);
        if (a.blocking.channels_at_once > 1) dot.update().unroll(s.dims.x, a.blocking.channels_at_once, TailStrategy::GuardWithIf);
    }

    void block_state() const {
        const dsl::BlockState &p = a.partial;
        over_lanes(p.maximum, p.lane_maximum, p.maximum_slots, p.lanes);
        over_lanes(p.sum, p.lane_sum, p.sum_slots, p.sum_lanes);

        Func weight = p.weight, kept = p.kept, output = p.output;
        per_tile(weight), per_tile(kept);
        weight.bound_extent(key, packed(a.blocking.keys_per_block));
        kept.bound_extent(key, a.blocking.panels_per_block() * a.blocking.kept_per_panel());
        const Var slot("slot"), in_slot("in_slot");
        vectorize(weight, row, true);
        if (a.blocking.sums_with_weights) weight.split(key, slot, in_slot, packed(a.blocking.keys_per_panel), TailStrategy::RoundUp);
        if (a.blocking.products.rounds()) {
            Func exponent = p.exponent;
            per_tile(exponent);
            const Var which = exponent.args()[1];
            exponent.bound(which, 0, a.blocking.weights_as_words ? 4 : 2)
                .bound_extent(row, rows)
                .reorder(row, which)
                .vectorize(row, lanes)
                .unroll(row)
                .unroll(which);
        }
        if (a.blocking.weights_as_words) {
            Func any_wide = p.any_wide;
            per_tile(any_wide);
            any_wide.update().atomic().vectorize(p.exponent_rows, lanes);
        }
        kept.never_partition_all();
        by_counters(kept, a.inputs.dropout, lanes);
        if (tiled()) {
            Func kept_weight = p.kept_weight;
            per_tile(kept_weight);
            kept_weight.bound_extent(key, packed(a.blocking.keys_per_block)).never_partition_all();
            vectorize(kept_weight, row, true);
        }

        // What a step of the merge takes is in registers until then: all loops but those over keys are unrolled.
        output.compute_at(a.fold.state, a.fold.merge.y).store_in(Halide::MemoryType::Register);
        output.bound_extent(dim, a.blocking.value_step).vectorize(row, lanes).unroll(row).unroll(dim);
        const int finite_stages = int(p.finite_keys.size());
        std::vector<Halide::RDom> stages = p.finite_keys;
        if (p.dropped_keys.defined()) stages.push_back(p.dropped_keys);
        stages.push_back(p.careful_keys);
        for (int i = 0; i < int(stages.size()); i++) {
            output.update(i).reorder(row, dim, stages[i].x, stages[i].y);
            if (tiled()) { // where sums of tiles are stored they aren't in registers
                if (i >= finite_stages) output.update(i).vectorize(row, lanes);
                continue;
            }
            output.update(i).vectorize(row, lanes).unroll(row).unroll(dim);
            if (a.blocking.values_at_once > 1 && i < finite_stages) output.update(i).unroll(stages[i].x, a.blocking.values_at_once);
        }
    }

    // Lanes of a panel side by side in registers, then over the lanes.
    void over_lanes(Func over_all, Func by_lane, const Halide::RDom &keys, const Halide::RDom &over) const {
        per_tile(over_all);
        over_all.vectorize(row, lanes).unroll(row).update().reorder(row, over).vectorize(row, lanes).unroll(row).unroll(over);
        per_tile(by_lane);
        by_lane.bound_extent(lane, over.x.extent()).vectorize(row, lanes).unroll(row).unroll(lane);
        const auto scheduled = [&](Halide::Stage stage, const Halide::RDom &r) {
            stage.reorder(row, lane, r.x, r.y).vectorize(row, lanes).unroll(row).unroll(lane).unroll(r.x);
        };
        if (by_lane.num_update_definitions() > 1) scheduled(by_lane.update(0), a.partial.unchanged_slots);
        scheduled(by_lane.update(by_lane.num_update_definitions() - 1), keys);
    }
};

dsl::Blocking blocking_of(const Machine &machine, int head_dim, int parts) {
    const bool in_parts = parts > 1, tiled = machine.bfloat16_tiles || in_parts;
    const Tiles tiles = tuned_tiles(machine, in_parts ? "flash_in_parts" : "flash", head_dim);
    dsl::Products products = machine.bfloat16_pairs || in_parts ? dsl::Products{true, vdpbf16ps} : dsl::Products{};
    if (tiled) products.multiple = tile_words;
    products.parts = parts;
    dsl::Blocking blocking{tiles.rows_per_tile, tiles.tiles_per_task, tiles.keys_per_block, tiles.keys_per_panel};
    if (machine.float_lanes < tiles.rows_per_tile && !tiled) blocking.first_rows = machine.float_lanes;
    blocking.asks_ahead = true;
    // Without AVX a panel's products have no register for it: 12 % more time at D 64.
    blocking.reads_in_place = blocking.asks_with_products = machine.float_lanes >= 8 && !tiled;
    // A pass of so many channels asks for a line.
    const int line_bytes = 64, channels = std::max(line_bytes / (tiles.keys_per_panel * int(sizeof(float))), 1);
    if (blocking.asks_with_products) blocking.channels_at_once = channels;
    if (tiled) {
        blocking.scores_in_memory = blocking.sums_with_weights = true;
        blocking.lanes_apart = 4, blocking.values_together = tile_words;
    }
    blocking.maxima_with_scores = true;
    blocking.weights_as_words = products.rounds();
    // Measured: 1.8 % less time at D 64 with AVX-512; with AVX2, whose registers are few, LLVM spills more in the products, 2 % slower.
    blocking.scores_as_exponents = machine.avx512 && !products.rounds();
    // A panel's weights are a loop of their own then. Measured on Zen 4: 12 keys in vectors of 16 gain 1 %, 4 in vectors of 8 lose 4 %.
    const int long_panel = 12;
    if (!tiled && tiles.keys_per_panel >= long_panel) {
        blocking.sums_with_weights = true, blocking.lanes_apart = 2;
        // Where pairs don't fill vectors, LLVM has no register for two of the sums then.
        if (!products.pairs || (head_dim > 0 && head_dim % (2 * machine.float_lanes) == 0))
            blocking.few_keys = tiles.keys_per_panel * 2 / 3;
    }
    // Unfused additions in a row the compiler sums in another order, and then blocks with NaN in masked values would differ in a bit.
    if (machine.fused) blocking.values_at_once = products.pairs ? 2 : 3;
    blocking.value_step = tiles.value_step, blocking.value_lanes = machine.float_lanes, blocking.products = products,
    blocking.rounding = rounding(machine), blocking.side_outputs = true;
    return blocking;
}

} // namespace

dsl::Blocking flash_blocking(const Machine &machine, int head_dim, const Halide::Expr &) { return blocking_of(machine, head_dim, 1); }

dsl::Blocking flash_bf16x3_blocking(const Machine &machine, int head_dim, const Halide::Expr &) {
    return blocking_of(machine, head_dim, machine.parts_by_tiles == 3 ? 3 : 1);
}

dsl::Blocking flash_bf16x2_blocking(const Machine &machine, int head_dim, const Halide::Expr &) {
    return blocking_of(machine, head_dim, machine.parts_by_tiles == 2 ? 2 : 1);
}

void flash_attention(const dsl::Attention &attention, const Machine &machine) { Flash(attention, machine).apply(); }

} // namespace attune::schedules::x86
