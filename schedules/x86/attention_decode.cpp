// Split-KV decoding for x86: a chunk of keys of one key/value head at a time, whatever thread it falls to.
//
// Channels are the lanes of a vector, so that keys and values are read where the caller stores them, each once. Where many rows read a key
// of bf16, and the CPU has tiles, they are multiplied as matrices instead.
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/axes.h"
#include "dsl/words.h"
#include "schedules/bounds.h"
#include "schedules/schedules.h"
#include "schedules/x86/decode_rows.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::Stage;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;

namespace {

constexpr int rows_of_scores = 4; // that share a vector or two, and so need half of the registers
const Var tile_of_rows{"tile_of_rows"}, chunk_task{"chunk_task"}, head_task{"head_task"}, fused{"fused"};
const Var in_chunk{"in_chunk"}, rows{"rows"}, rows_alone{"rows_alone"}, in_rows{"in_rows"};

class DecodeSchedules {
public:
    DecodeSchedules(const dsl::Decode &decode, const Machine &machine)
        : d(decode), lanes(decode.blocking.lanes), panel_keys(decode.blocking.keys_per_panel), streams(decode.blocking.streams),
          rows_at_once(rows_in_registers(machine)), value_rows(rows_per_turn(machine, decode.blocking)),
          keys_at_once(tuned_streams(machine, "decode", int(Halide::Internal::as_const_int(decode.inputs.head_dim).value_or(0)),
                                     decode.inputs.pages.key.type())
                           .keys_at_once),
          rows_per_tile(decode.tiled ? decode.blocking.tiles.size : 8) {}

    void apply() {
        tasks();
        listed_panels();
        scores();
        softmax_state();
        output();
        merge();
    }

private:
    const dsl::Decode &d;
    const int lanes, panel_keys, streams, rows_at_once;
    const int value_rows;    // of the output at once
    const int keys_at_once;  // whose vectors are read in turn, where rows share them
    const int rows_per_tile; // that share a chunk's scratch memory

    Halide::Expr is_alone() const { return d.rows_per_head() == 1; }
    // Whether chunks of one row are of another length than those of several.
    bool has_chunks_alone() const { return d.blocking.keys_per_chunk_alone != d.blocking.keys_per_chunk; }

    // Rows that scratch memory is for: where only one reads a key, as many as are computed with it.
    Halide::Expr most_rows() const { return has_chunks_alone() ? select(is_alone(), rows_of_scores, rows_per_tile) : rows_per_tile; }

    void per_task(Func f) const {
        only_one(f, {chunk});
        f.compute_at(d.partial, chunk_task);
    }

    // Everything of a tile of rows and a chunk, on the stack where widths are known.
    void per_tile(Func f) const {
        only_one(f, {chunk});
        f.compute_at(d.partial, tile_of_rows);
        for (const Var &axis : f.args()) {
            if (axis.name() == row.name()) f.bound_storage(row, most_rows());
            if (axis.name() == lane.name()) f.bound_extent(lane, panel_keys);
            if (axis.name() == stream.name()) f.bound_extent(stream, streams);
            if (axis.name() == step.name()) f.bound_extent(step, d.steps_per_chunk());
            if (axis.name() == channel.name()) f.bound_extent(channel, lanes);
        }
    }

    // Whether each key, or value, so wide, follows the one before in memory. Undefined where that makes no difference.
    Halide::Expr side_by_side(const std::optional<dsl::Pages::Strides> &strides, const Halide::Expr &width) const {
        return d.blocking.in_turn && d.panel_at.defined() && is_const(width) ? strides->place == width : Halide::Expr();
    }
    Halide::Expr keys_side_by_side() const { return side_by_side(d.inputs.pages.key_strides, d.inputs.head_dim); }
    Halide::Expr values_side_by_side() const { return side_by_side(d.inputs.pages.value_strides, d.inputs.value_dim); }

    // As it is, and, in code of its own, where what is read lies side by side: distances are constants there, so that the addresses of a
    // panel, and of what is asked for ahead, take a register for all of its keys rather than one for each.
    template <typename Each> void however_keys_lie(Stage stage, const Halide::Expr &adjacent, const Each &each) const {
        if (adjacent.defined()) {
            Stage of_adjacent = stage.specialize(adjacent);
            each(of_adjacent);
        }
        each(stage);
    }

    // A row alone, or else `at_once` of them: those past the last are computed and never read.
    template <typename Each> void by_rows(Stage stage, const Halide::Expr &adjacent, int at_once, const Each &each) const {
        Stage alone = stage.specialize(is_alone());
        alone.split(row, rows, in_rows, 1);
        each(alone);
        however_keys_lie(stage, adjacent, [&](Stage &several) {
            several.split(row, rows, in_rows, at_once, TailStrategy::RoundUp);
            each(several);
        });
    }

    void tasks() const {
        Func partial = d.partial;
        partial.compute_root().bound(channel, 0, lanes).bound(row, 0, d.rows_per_head());
        partial.split(row, tile_of_rows, row, rows_per_tile, TailStrategy::GuardWithIf)
            .split(chunk, chunk, in_chunk, 1)
            .reorder(channel, vector, row, tile_of_rows, in_chunk, chunk, head, batch)
            .fuse(chunk, head, fused)
            .fuse(fused, batch, chunk_task)
            .parallel(chunk_task)
            .vectorize(channel)
            .partition(tile_of_rows, Halide::Partition::Never);
        // So that either length is a constant, in code of its own: computed, it made groups of four 3 % slower.
        if (has_chunks_alone()) partial.specialize(is_alone());
        // In code of its own: after each call the compiler sets the tiles up again that later code may multiply, which took fewer rows 2 to
        // 3 % of the time of 1024 keys, and 5 of 32.
        if (d.tiled) partial.specialize(d.tiled.used);
    }

    void listed_panels() const {
        for (Func f : {d.first, d.end, d.reach, d.full, d.list, d.begin})
            per_task(f);
        Func reach = d.reach, list = d.list, begin = d.begin;
        begin.bound_extent(stream, streams).bound_extent(step, d.steps_per_chunk());
        const Halide::Expr slots = d.listed.y.extent() * d.listed.z.extent(), keys = d.listed.x.extent() * slots;
        if (d.panel_at.defined()) {
            Func panels = d.panel_at;
            per_task(panels);
            panels.bound_extent(panels.args()[0], slots);
            panels.update(0).allow_race_conditions().vectorize(d.listed_panels.x).specialize(d.panels_within_pages);
            if (!d.blocking.bytes_ahead.empty()) panels.update(1).unscheduled();
        }
        Func table = d.read_at.defined() ? d.read_at : d.place_of_page;
        per_task(table);
        table.bound_extent(table.args()[0], keys);
        table.update().allow_race_conditions().vectorize(d.listed.x, lanes).specialize(d.panels_within_pages);
        if (d.scale_of.defined()) {
            Func scales = d.scale_of;
            per_task(scales);
            scales.bound_extent(scales.args()[0], keys);
            scales.update().allow_race_conditions().vectorize(d.listed_scales.x, lanes).specialize(d.inputs.pages.scales_contiguous);
        }
        reach.bound_extent(panel, d.panels_per_chunk()).vectorize(panel, lanes);
        reach.update().reorder(panel, d.reach_intervals.x, d.reach_intervals.y).vectorize(panel, lanes);
        list.vectorize(list.args()[0], lanes).update().unroll(d.panels.x);
    }

    void scores() const {
        Func query = d.query, masked = d.masked;
        per_tile(query);
        query.vectorize(dim, lanes, TailStrategy::GuardWithIf);
        per_tile(d.rest_query);
        Func(d.rest_query).vectorize(dim, lanes, TailStrategy::GuardWithIf);
        per_tile(masked);
        for (int i = 0; i < int(d.scores.size()); i++)
            products(d.scores[i], masked.update(i));
        int stage = int(d.scores.size());
        for (const dsl::TiledProducts::Scores &s : d.tiled.scores)
            tiled_scores(s, masked.update(stage++));
        if (d.tiled) tiled_query();
        for (const Halide::RDom &steps : d.stages)
            over_lanes(masked.update(stage++), steps);
    }

    // The scores of a group of keys and some rows are made at once, in registers, and stored to places of their own.
    void products(const dsl::KeyProducts &p, Stage store) const {
        const bool alone = d.scores.size() > 1 && p.rows_per_vector == 1; // is all that it is for
        const Var rows_of_store(alone ? rows_alone : rows);
        std::vector<VarOrRVar> loops = {p.store.x, in_rows, rows_of_store, p.store.y, p.store.z, p.store.w};
        if (holds_dots(p)) std::swap(loops[2], loops[3]);
        const Halide::LoopLevel each_group(d.masked, loops[2]), rows_of_panel(d.masked, VarOrRVar(rows_of_store));
        auto each = [&](Stage &s) { s.reorder(loops).allow_race_conditions().vectorize(p.store.x).unroll(in_rows); };
        if (alone) {
            store.split(row, rows_of_store, in_rows, 1);
            each(store);
        } else if (d.scores.size() > 1) {
            however_keys_lie(store, keys_side_by_side(), [&](Stage &several) {
                several.split(row, rows_of_store, in_rows, rows_of_scores, TailStrategy::RoundUp);
                each(several);
            });
        } else {
            by_rows(store, keys_side_by_side(), rows_at_once, each);
        }
        std::vector<Func> funcs = p.sums;
        funcs.push_back(p.dot), funcs.push_back(p.score);
        for (Func f : funcs) {
            only_one(f, {chunk});
            const int group = int(f.args().size()) - 7; // and, after it, the stream of the group
            f.compute_at(each_group)
                .store_in(Halide::MemoryType::Register)
                .bound_extent(f.args()[group], 1)
                .bound_extent(f.args()[group + 1], 1)
                .bound_extent(step, 1);
        }
        Func score = p.score;
        const Var number = score.args()[0], row_of_vector = score.args()[1];
        score.bound_extent(number, streams).bound_extent(row_of_vector, p.rows_per_vector);
        score.vectorize(number).vectorize(row_of_vector).vectorize(row);
        // All rows at once: the sums of four keys and four rows are a vector.
        const Var of_key("of_key"), number_of_key("number_of_key");
        int left = p.lanes;
        for (Func f : p.sums) {
            left /= 2;
            f.bound_extent(channel, left * p.rows_per_vector * streams).vectorize(channel).vectorize(row);
            const std::vector<VarOrRVar> order = {p.halves, of_key, number_of_key, row};
            Stage update = f.update();
            update.split(channel, number_of_key, of_key, left).reorder(order).atomic();
            for (const VarOrRVar &v : order)
                update.vectorize(v);
        }
        if (holds_dots(p)) hold_dots(p, rows_of_panel);
        if (p.rows_per_vector > 1)
            dot_of_rows(p);
        else
            dot_of_row(p);
    }

    // Whether the sums by lane of all groups of a panel go to memory, and are added up after the last one's products. Zen 4 looks ahead
    // some 320 instructions, hardly more than a group's, and so waits for its additions, one after the other, before the next one's
    // products: in the caches groups of four rows take 0.95 of the time so in bf16, 0.98 in f32.
    bool holds_dots(const dsl::KeyProducts &p) const { return p.rows_per_vector > 1 && d.blocking.in_turn; }

    void hold_dots(const dsl::KeyProducts &p, const Halide::LoopLevel &rows_of_panel) const {
        Func dot = p.dot, held = dot.in(p.sums.front());
        const Var group = held.args()[1], of_stream = held.args()[2];
        only_one(held, {chunk});
        held.compute_at(rows_of_panel)
            .bound_extent(channel, lanes * streams)
            .bound_extent(group, panel_keys / streams)
            .bound_extent(of_stream, 1)
            .bound_extent(step, 1)
            .bound_extent(row, rows_of_scores / p.rows_per_vector)
            .reorder(channel, row, group)
            .vectorize(channel, lanes)
            .unroll(channel)
            .unroll(row);
        dot.compute_at(held, group);
    }

    // A key's vectors one after the other, so that it is read in order; or those of all streams in turn.
    void dot_of_row(const dsl::KeyProducts &p) const {
        Func dot = p.dot;
        const Var of_channel("of_channel");
        dot.bound_extent(channel, lanes * streams).vectorize(channel, lanes).unroll(channel).unroll(row);
        for (std::size_t i = 0; i < p.vectors.size(); i++) {
            const auto &[key, dims] = p.vectors[i];
            dot.update(int(i))
                .split(channel, stream, of_channel, lanes)
                .reorder(of_channel, row, d.blocking.in_turn ? VarOrRVar(dims.x) : stream, d.blocking.in_turn ? VarOrRVar(stream) : dims.x)
                .vectorize(of_channel)
                .unroll(stream)
                .unroll(row);
            Func(key).compute_at(dot, dims.x);
            in_registers(key, lanes, d.blocking.in_turn ? 1 : streams);
        }
    }

    // A vector of as many keys, or values, as are read one beside the other.
    void in_registers(Func f, int lanes_of_vector, int keys_beside) const {
        only_one(f, {chunk});
        f.store_in(Halide::MemoryType::Register)
            .bound_extent(channel, lanes_of_vector)
            .bound_extent(step, 1)
            .bound_extent(lane, 1)
            .bound_extent(stream, keys_beside)
            .vectorize(channel)
            .unroll(stream);
    }

    // How many parts of a key are read at once, so that their line is asked for once. Of words, which are two products each, half of them:
    // with all four LLVM stores a dozen sums and operands and loads them again (Zen 3, groups of four heads: 2 to 4 % longer).
    int parts_at_once(const dsl::KeyProducts &p) const {
        const int line = d.by_words ? 32 : 64, channels = p.lanes * d.channels_per_lane(dsl::Cached::key);
        const auto width = Halide::Internal::as_const_int(d.inputs.head_dim);
        return int(std::gcd(width.value_or(channels) / channels, std::max(line / (channels * d.inputs.pages.key.type().bytes()), 1)));
    }

    // A vector of queries is read once for several keys, and each part of a key once for all vectors of rows.
    void dot_of_rows(const dsl::KeyProducts &p) const {
        const Halide::RDom &dims = p.vectors.front().dims; // all of them are whole
        Func dot = p.dot, key = p.vectors.front().key, query = p.query;
        const Var of_channel("of_channel"), of_vector("of_vector"), of_turn("of_turn");
        per_tile(query);
        query.split(dim, vector, dim, lanes).split(dim, of_vector, dim, p.lanes).vectorize(dim).unroll(of_vector);
        dot.bound_extent(channel, lanes * streams).vectorize(channel, lanes).unroll(channel).unroll(row);
        dot.update()
            .split(channel, stream, of_channel, lanes)
            .split(of_channel, of_vector, of_channel, p.lanes)
            .split(stream, stream, of_turn, keys_at_once)
            .reorder(of_channel, of_vector, row, of_turn, dims.x, stream)
            .vectorize(of_channel)
            .vectorize(of_vector)
            .unroll(row)
            .unroll(stream)
            .unroll(of_turn)
            .unroll(dims.x, parts_at_once(p));
        key.compute_at(dot, of_turn);
        in_registers(key, p.lanes, 1);
    }

    void over_lanes(Stage stage, const Halide::RDom &steps) const {
        std::vector<VarOrRVar> order = {lane};
        for (int i = 0; i < steps.dimensions(); i++)
            order.emplace_back(steps[i]);
        stage.reorder(order).vectorize(lane, lanes);
    }

    void softmax_state() const {
        for (Func f : {d.lane_maximum, d.maximum, d.weight, d.lane_sum, d.sum, d.share, d.lane_bits, d.output_bits})
            per_tile(f);
        Func lane_maximum = d.lane_maximum, maximum = d.maximum, weight = d.weight, lane_sum = d.lane_sum, sum = d.sum, share = d.share;
        lane_maximum.vectorize(lane, lanes), lane_sum.vectorize(lane, lanes);
        over_lanes(lane_maximum.update(), d.maximum_steps);
        over_lanes(lane_sum.update(), d.sum_steps);
        maximum.update().atomic().vectorize(d.lanes, lanes), sum.update().atomic().vectorize(d.lanes, lanes);
        for (int i = 0; i < int(d.weights.size()); i++)
            over_lanes(weight.update(i), d.weights[i]);
        over_lanes(share.update(0), d.shares);
        over_lanes(share.update(1), d.dropped);
        if (d.scaled_share.defined()) {
            Func scaled = d.scaled_share;
            per_tile(scaled);
            over_lanes(scaled.update(), d.scaled);
        }
        if (!d.packed_share.defined()) return;
        Func packed = d.packed_share;
        const Var of_packed = packed.args()[0];
        per_tile(packed);
        packed.bound_extent(of_packed, panel_keys / (d.tiled ? d.blocking.tiles.products : d.products).depth());
        packed.update().reorder(VarOrRVar(of_packed), d.packs.x, d.packs.y).vectorize(of_packed);
    }

    void output() const {
        Func output = d.output, careful = d.careful, lane_bits = d.lane_bits, bits = d.output_bits;
        per_tile(output), per_tile(careful);
        output.vectorize(channel), careful.vectorize(channel), lane_bits.vectorize(channel);
        for (int i = 0; i < int(d.values.size()); i++)
            values(d.values[i], output.update(i));
        if (d.tiled) tiled_output(output.update(int(d.values.size())));
        const Halide::RDom &parts = d.careful_parts;
        Func careful_sum = d.careful_sum;
        only_one(careful_sum, {chunk});
        careful_sum.compute_at(careful, parts.x).bound_extent(step, 1).bound_extent(channel, lanes).vectorize(channel);
        for (int i = 0; i < int(d.careful_keys.size()); i++) {
            const Halide::RDom &keys = d.careful_keys[i];
            careful_sum.update(i).reorder({channel, vector, keys.x, keys.y, row}).vectorize(channel);
        }
        careful.update().reorder(channel, vector, parts.x, parts.y, row).vectorize(channel);
        lane_bits.update().reorder(channel, d.outputs).vectorize(channel);
        bits.update().atomic().vectorize(d.channels_of_bits);
    }

    // All rows take a part while it is in the nearest cache: 1.36 ms for 32 MiB on Zen 4, with four rows at once 1.46.
    void values(const dsl::ValueProducts &p, Stage store) const {
        const Halide::RDom &s = p.store;
        by_rows(store, values_side_by_side(), value_rows, [&](Stage &stage) {
            stage.reorder({channel, in_rows, s.x, s.y, rows, s.z, s.w}).vectorize(channel).unroll(in_rows).unroll(s.x);
        });
        Func sum = p.sum;
        only_one(sum, {chunk});
        sum.compute_at(d.output, s.y).store_in(Halide::MemoryType::Register);
        sum.bound_extent(channel, lanes).bound_extent(step, 1).bound(vector, 0, s.x.extent());
        for (int only : {2, 3}) // pass and part
            sum.bound_extent(sum.args()[only], 1);
        sum.vectorize(channel).unroll(vector).unroll(row);
        sum.update().reorder({channel, row, vector, p.keys.x, p.keys.y}).vectorize(channel).unroll(vector).unroll(row);
        if (d.products.add_single) sum.update().unroll(p.keys.x); // else LLVM would add up in another order than that of `careful`
        Func value = p.value;
        value.compute_at(sum, vector);
        in_registers(value, lanes, 1);
    }

    void tiled_query() const {
        Func lines = d.tiled.query_lines, query = d.tiled.query;
        const Halide::RDom &words = d.tiled.query_words;
        per_tile(query);
        for (Func f : {lines, query})
            f.bound_extent(row, d.blocking.tiles.size);
        query.update().reorder(row, words.x, words.y, words.z).vectorize(row, lanes); // by TurnSquares
        lines.compute_at(query, words.z).bound_extent(channel, lanes).vectorize(channel);
    }

    // A panel's keys are multiplied, and their scores turned by TurnSquares.
    void tiled_scores(const dsl::TiledProducts::Scores &scores, Stage store) const {
        const int size = d.blocking.tiles.size;
        const Halide::RDom &s = scores.store;
        const Halide::RVar of_vector("of_vector"), vectors("vectors");
        store.split(row, rows, in_rows, size, TailStrategy::RoundUp)
            .split(s.x, vectors, of_vector, lanes)
            .reorder({of_vector, in_rows, vectors, s.z, s.y, rows, s.w})
            .allow_race_conditions()
            .vectorize(of_vector);
        Func key = scores.key, dot = scores.dot;
        std::vector<Func> of_panel = {dot};
        if (key.defined()) of_panel.push_back(key);
        for (Func f : of_panel) {
            only_one(f, {chunk});
            f.compute_at(d.masked, s.z).bound_extent(lane, panel_keys).bound_extent(stream, 1).bound_extent(step, 1);
        }
        dot.bound_extent(row, size);
        dot.update().reorder(row, lane, scores.dims.x, scores.dims.y); // by TileProducts
        if (key.defined()) {
            key.bound_extent(channel, lanes).vectorize(channel);
            if (d.inputs.pages.scaled()) key.hoist_storage(d.masked, s.w); // all panels are copied; see tiled_output()
            return;
        }
        Func read = d.tiled.read;
        only_one(read, {chunk});
        read.compute_at(d.masked, s.z).bound_extent(stream, 1).bound_extent(step, 1);
        if (is_const(Halide::Internal::simplify(d.tiled.lines.x.extent()))) read.update().unroll(d.tiled.lines.x);
    }

    // The values of a part's panels are copied, pairs of keys side by side, and multiplied for all rows.
    void tiled_output(Stage store) const {
        const dsl::TiledProducts &t = d.tiled;
        const int size = d.blocking.tiles.size, depth = d.blocking.tiles.products.depth();
        const Halide::RDom &s = t.outputs, &c = t.careful_outputs;
        Func value = t.value, sum = t.sum, careful = d.careful, guarded = t.guarded, careful_sum = t.careful_sum;
        for (Func f : {value, sum, guarded, careful_sum}) {
            only_one(f, {chunk});
            f.bound_extent(channel, lanes).bound_extent(step, 1);
        }
        store.reorder({channel, s[0], row, s[1], s[2], s[3], s[4]}).vectorize(channel).unroll(s[0]);
        sum.compute_at(d.output, s[1]).bound_extent(vector, d.blocking.tiles.vectors_at_once).bound_extent(part, 1).bound_extent(row, size);
        sum.update().reorder({channel, row, vector, t.words.x, t.words.y}); // by TileProducts
        // Where widths aren't known memory comes by a call, after which the compiler sets the tiles up again.
        value.compute_at(d.output, s[2]).hoist_storage(d.output, s[4]);
        value.bound_extent(word, panel_keys / depth).bound_extent(stream, depth).vectorize(channel);
        if (is_const(Halide::Internal::simplify(d.value_vectors()))) value.unroll(vector);
        value.reorder_storage(channel, word, stream, vector, step, chunk, head, batch); // tiles, whatever the width

        const Var repeated = careful_sum.args()[2];
        careful.update(1).reorder({channel, vector, c.x, c.y, row, c.z}).vectorize(channel);
        Func guarded_share = t.guarded_share;
        only_one(guarded_share, {chunk});
        for (Func f : {guarded, guarded_share, careful_sum})
            f.compute_at(careful, vector).bound_extent(row, 1).bound_extent(step, 1);
        for (Func f : {guarded, careful_sum})
            f.bound_extent(vector, 1);
        careful_sum.bound_extent(repeated, size).bound_extent(part, 1);
        careful_sum.update().reorder({channel, repeated, t.careful_words.x, t.careful_words.y}); // by TileProducts
        guarded.bound_extent(word, panel_keys / depth).bound_extent(stream, depth).vectorize(channel);
        guarded_share.bound_extent(word, panel_keys / depth).bound_extent(stream, depth).vectorize(word);
    }

    void merge() const {
        Func result = d.result, attention = d.attention;
        result.compute_root().bound(channel, 0, lanes).reorder(channel, vector, row, head, batch);
        result.fuse(head, batch, head_task).parallel(head_task).vectorize(channel);
        for (Func f : {d.joint, d.factor, d.merged, d.starved, d.attends, d.closing}) {
            for (const Var &axis : f.args())
                if (axis.name() == head.name() || axis.name() == batch.name()) f.bound_extent(axis, 1);
            f.compute_at(result, head_task);
        }
        Func merged = d.merged, closing = d.closing;
        merged.bound_extent(channel, lanes).vectorize(channel);
        merged.update().reorder(channel, vector, d.merges, row).vectorize(channel);
        closing.bound_extent(closing.args()[0], dsl::Fold::closing_count).unroll(closing.args()[0]);
        attention.vectorize(dim, d.reads_pairs() ? dsl::PairedElement::in_order : lanes, TailStrategy::GuardWithIf).parallel(batch);
    }
};

} // namespace

void decode_attention(const dsl::Decode &decode, const Machine &machine) { DecodeSchedules(decode, machine).apply(); }

} // namespace attune::schedules::x86
