#include "dsl/attention/simt.h"

#include <map>
#include <string>

#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/products.h"
#include "dsl/rows_of_head.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;
using Halide::Internal::Interval;

namespace {

const Var odd{"odd"}, q{"q"};

// The declaration under way, and what several of its parts ask.
struct Builder {
    const AttentionInputs &in;
    const ItemInputs &items;
    SimtAttention t;

    Expr chunks() const { return (in.keys - 1) / items.keys_per_chunk + 1; }
    Expr blocks_of_chunk() const { return items.keys_per_chunk / t.blocking.keys; }
    // Which block of the keys is the b-th of those that a tile goes through.
    Expr block_of_tile(const Expr &b) const { return t.blocking.split ? tile % chunks() * blocks_of_chunk() + b : b; }
    Expr first_row() const { return (t.blocking.split ? tile / chunks() : Expr(tile)) * t.blocking.rows; }
    RowsOfHead rows() const { return {in.queries, in.heads_per_group, t.blocking.split}; }
    Expr existing_row(const Expr &r) const { return min(first_row() + r, rows().count() - 1); }
    Expr key_token(const Expr &k, const Expr &b) const { return min(block_of_tile(b) * t.blocking.keys + k, in.keys - 1); }
    Cell cell(const Expr &r, const Expr &k, const Expr &b) const {
        return rows().cell(first_row() + r, block_of_tile(b) * t.blocking.keys + k);
    }
    // Interval analysis sees through names, and not through calls: it is given names, for which the calls stand in afterwards.
    Mask mask() const {
        // Limits may be negative: two windows of other alignments leave such a one.
        const Mask around([](const Cell &c) {
            const Expr at = c.query + named(SimtAttention::offset);
            return at - named(SimtAttention::left) <= c.key && c.key <= at + named(SimtAttention::right);
        });
        const Mask of_item = around & prefix(named(SimtAttention::length));
        return in.mask ? of_item & *in.mask : of_item;
    }
    static std::string name_of(int what) { return "attune.item." + std::to_string(what); }
    static Expr named(int what) { return Halide::Internal::Variable::make(Halide::Int(32), name_of(what)); }
    Expr of_item(const Expr &analysed) const { return of_item(t.item, analysed); }
    static Expr of_item(const Func &item, const Expr &analysed) {
        std::map<std::string, Expr> calls;
        for (int what = 0; what < SimtAttention::items; what++)
            calls[name_of(what)] = item(what, batch);
        return Halide::Internal::substitute(calls, analysed);
    }
    CellBlock cells(const Interval &keys) const {
        return {batch, head, rows().queries(first_row(), first_row() + (t.blocking.rows - 1)), keys};
    }
    CellBlock of_block(const Expr &b) const {
        const Expr begin = block_of_tile(b) * t.blocking.keys;
        return cells(Interval(begin, begin + (t.blocking.keys - 1)));
    }
    Expr of_part(const Expr &p, const Expr &nth) const { // the nth key or channel of a part
        const int group = SimtBlocking::group;
        return nth / group * (group * t.blocking.parts) + p * group + nth % group;
    }

    void declare_items();
    void declare_operands();
    void declare_scores();
    void declare_weights();
    void declare_output();
    Expr is_attended(const Expr &b) const;
    void declare_state();
    // Channel `dim` of a row's output.
    Expr output_of(const Expr &of_row, const Expr &of_tile) const {
        const int group = SimtBlocking::group;
        Expr d = dim % t.blocking.channels; // it is less, which is thus seen
        Expr own = d / (group * t.blocking.parts) * group + d % group, part_of = d / group % t.blocking.parts;
        return t.state(state::output + own, part_of, of_row, of_tile, head, batch);
    }
    Expr attends_to(const Func &item, const Cell &cell) const;
    Func item(const char *name) const;
    void declare_sums();
    void declare_results();
    void declare_partial();
    void declare_merge();
};

Func Builder::item(const char *name) const {
    Func f(name);
    // Beyond this all keys are on one side of all queries.
    const int far = 1 << 29;
    Expr offset = clamp(branch(items.use_offsets != 0, items.offsets(batch), items.offset), -far, far);
    Expr length = branch(items.use_lengths != 0, clamp(items.lengths(batch), 0, in.keys), in.keys);
    f(which, batch) = select(which == int(SimtAttention::offset), offset, which == int(SimtAttention::length), length,
                             which == int(SimtAttention::left), items.left, items.right);
    return f;
}

void Builder::declare_items() {
    t.item = item("item"), t.slope = Func("slope");
    t.slope(head) = branch(items.use_alibi != 0, alibi_slope(head, items.heads), 0.0f);
}

void Builder::declare_operands() {
    const Var chunk("chunk");
    t.query = Func("query_chunk"), t.key = Func("key_chunk"), t.value = Func("value_chunk");
    Expr d = chunk * t.blocking.dims + dim, inside = d < in.head_dim, clamped = min(d, in.head_dim - 1);
    Expr q = as_float(in.query(clamped, rows().query_of(existing_row(row)), rows().head_of(existing_row(row)), batch));
    Expr k = as_float(in.key(clamped, key_token(key, block), rows().kv_head(), batch));
    t.query(row, dim, chunk, tile, head, batch) = select(inside, q, 0.0f);
    t.key(key, dim, chunk, block, tile, head, batch) = select(inside, k, 0.0f);
    Expr token_of_value = key_token(chunk * t.blocking.values + key, block);
    Expr v = as_float(in.value(min(dim, in.value_dim - 1), token_of_value, rows().kv_head(), batch));
    t.value(dim, key, chunk, block, tile, head, batch) = select(dim < in.value_dim, v, 0.0f);
}

void Builder::declare_scores() {
    t.dot = Func("dot"), t.score = Func("score");
    t.dims = RDom(0, t.blocking.dims, 0, divided_up(in.head_dim, t.blocking.dims), "dims");
    t.dot(row, key, block, tile, head, batch) = 0.0f;
    t.dot(row, key, block, tile, head, batch) +=
        t.query(row, t.dims.x, t.dims.y, tile, head, batch) * t.key(key, t.dims.x, t.dims.y, block, tile, head, batch);

    auto score = [&]() -> Halide::FuncRef { return t.score(row, key, block, tile, head, batch); };
    auto once_if = [&](const Expr &used, const char *name) { return t.stages.emplace_back(0, select(used, 1, 0), name), t.stages.back(); };
    const Cell at = cell(row, key, block);
    score() = t.dot(row, key, block, tile, head, batch) * in.scale;
    RDom cap = once_if(in.softcap > 0.0f, "cap");
    score() = softcap(score(), Cap(in.softcap + cast<float>(cap)));
    RDom alibi = once_if(items.use_alibi != 0, "alibi");
    Expr apart = abs(at.query + alibi + t.item(int(SimtAttention::offset), batch) - at.key);
    score() = score() - t.slope(at.head) * cast<float>(apart);
    RDom bias = once_if(in.use_bias != 0, "bias");
    const Cell existing = rows().cell(existing_row(row), 0);
    score() = add_bias(score(), in.bias(key_token(key, block) + bias, existing.query, existing.head, batch));
    if (in.score) score() = (*in.score)(score(), rows().cell(existing_row(row), key_token(key, block)));
    Expr full = of_item(mask().allows_all(of_block(block)));
    score() = branch(full, score(), mask_score(score(), of_item(mask().allows(at))));
}

// A weight of 0 says that the key is masked.
void Builder::declare_weights() {
    t.part_maximum = Func("part_maximum"), t.maximum = Func("maximum"), t.weight = Func("weight"), t.part_sum = Func("part_sum");
    t.keys_of_part = RDom(0, t.blocking.keys_per_part(), "keys_of_part"), t.parts = RDom(0, t.blocking.parts, "parts");
    const Expr key_of_part = of_part(part, t.keys_of_part);
    auto by_part = [&](Func f) -> Halide::FuncRef { return f(part, row, block, tile, head, batch); };
    auto own = [&](const Func &f) { return f(row, key_of_part, block, tile, head, batch); };
    by_part(t.part_maximum) = masked_score();
    by_part(t.part_maximum) = max(by_part(t.part_maximum), own(t.score));
    t.maximum(row, block, tile, head, batch) = masked_score();
    t.maximum(row, block, tile, head, batch) =
        max(t.maximum(row, block, tile, head, batch), t.part_maximum(t.parts, row, block, tile, head, batch));
    Expr score = t.score(row, key, block, tile, head, batch);
    Expr weight = relative_weight(score, t.maximum(row, block, tile, head, batch), base2_scale(in.temperature));
    t.weight(row, key, block, tile, head, batch) = weight_above_zero(score, weight);
    by_part(t.part_sum) = 0.0f;
    by_part(t.part_sum) += own(t.weight);
}

void Builder::declare_output() {
    t.output = Func("output"), t.bits = Func("bits"), t.careful = Func("careful");
    const int at_once = t.blocking.values;
    t.values = RDom(0, at_once, 0, t.blocking.keys / at_once, "values"), t.careful_keys = RDom(0, t.blocking.keys, "careful_keys");
    t.output(dim, row, block, tile, head, batch) = 0.0f;
    t.output(dim, row, block, tile, head, batch) += t.weight(row, t.values.y * at_once + t.values.x, block, tile, head, batch) *
                                                    t.value(dim, t.values.x, t.values.y, block, tile, head, batch);
    t.channels = RDom(0, t.blocking.channels_per_part(), "channels");
    t.bits(part, row, block, tile, head, batch) = 0;
    t.bits(part, row, block, tile, head, batch) = max(t.bits(part, row, block, tile, head, batch),
                                                      magnitude_bits(t.output(of_part(part, t.channels), row, block, tile, head, batch)));
    Expr infinite = t.bits(dim / SimtBlocking::group % t.blocking.parts, row, block, tile, head, batch) >= Operands::infinite_bits;
    t.careful_keys.where(infinite);
    t.careful(dim, row, block, tile, head, batch) = select(infinite, 0.0f, t.output(dim, row, block, tile, head, batch));
    Expr weight = t.weight(row, t.careful_keys, block, tile, head, batch);
    Expr value = as_float(in.value(min(dim, in.value_dim - 1), key_token(t.careful_keys, block), rows().kv_head(), batch));
    // Multiplied and added in one operation, as above: finite values then give the same bits.
    t.careful(dim, row, block, tile, head, batch) += weight * select(strict_equal(weight, 0.0f), 0.0f, value);
}

// Whether some row may attend to a key of the block. What an item's numbers are is worked out anew, and isn't read from shared memory, and
// the answer is used as a number, which bounds inference doesn't try to solve for the block: so the condition can enclose all that is done
// for a block.
Expr Builder::is_attended(const Expr &b) const {
    const Func own = item("item_of_block");
    const Interval keys = mask().possible_keys(cells(Interval(0, in.keys - 1)));
    Expr first = of_item(own, keys.min) / t.blocking.keys, end = of_item(own, keys.max + t.blocking.keys) / t.blocking.keys;
    const Expr of_all = block_of_tile(b), within = of_all >= first && of_all < end;
    return in.mask ? within && !of_item(own, mask().allows_none(of_block(b))) : within; // it may leave out blocks between others
}

// As the fold of blocks elsewhere; every part merges its own share of a row's sum and output.
void Builder::declare_state() {
    t.state = Func("state");
    const Expr blocks = t.blocking.split ? blocks_of_chunk() : divided_up(in.keys, t.blocking.keys);
    t.merge = RDom(0, state::output + t.blocking.channels_per_part(), 0, blocks, "merge");
    const Halide::RVar &slot = t.merge.x, &b = t.merge.y;
    t.merge.where(branch(is_attended(b), 1, 0) != 0);
    auto at = [&](const Expr &l) -> Halide::FuncRef { return t.state(l, part, row, tile, head, batch); };
    at(lane) = select(lane == state::maximum, masked_score(), 0.0f);
    Expr kept = at(state::maximum), added = t.maximum(row, b, tile, head, batch), maximum = max(kept, added);
    Expr factor = relative_weight(select(slot == state::kept_factor, kept, added), maximum, base2_scale(in.temperature));
    auto merged = [&](const Expr &more) { return at(slot) * at(state::kept_factor) + more * at(state::added_factor); };
    Expr own = clamp(slot - state::output, 0, t.blocking.channels_per_part() - 1);
    Expr output = merged(t.careful(of_part(part, own), row, b, tile, head, batch));
    Expr sum = merged(t.part_sum(part, row, b, tile, head, batch));
    at(slot) = select(slot >= state::output, output, slot == state::sum, sum, slot == state::maximum, maximum, factor);
}

Expr Builder::attends_to(const Func &item, const Cell &cell) const {
    Expr biased = branch(in.use_bias != 0, in.bias(cell.key, min(cell.query, in.queries - 1), cell.head, batch), 0.0f);
    return select(of_item(item, mask().allows(cell)) && !strict_equal(biased, masked_score()), 1, 0);
}

void Builder::declare_sums() {
    t.shared = Func("shared_state"), t.total = Func("total");
    t.attends = Func("attends"), t.closing = Func("closing"), t.attention = Func("attention"), t.lse = Func("lse");
    t.shared(which, part, row, tile, head, batch) = t.state(state::maximum + which, part, row, tile, head, batch);
    t.total(row, tile, head, batch) = 0.0f;
    t.total(row, tile, head, batch) += t.shared(state::sum - state::maximum, t.parts, row, tile, head, batch);
}

void Builder::declare_results() {
    t.starved = RDom(0, in.keys, "starved");
    t.starved.where(strict_equal(t.total(row, tile, head, batch), 0.0f));
    const Cell at{batch, head, first_row() + row, t.starved};
    t.attends(row, tile, head, batch) = 0;
    t.attends(row, tile, head, batch) = max(t.attends(row, tile, head, batch), attends_to(t.item, at));
    t.closing(row, which, tile, head, batch) = closing(in, which, t.shared(0, 0, row, tile, head, batch), t.total(row, tile, head, batch),
                                                       head, t.attends(row, tile, head, batch));

    Expr tile_of = token / t.blocking.rows, row_of = token % t.blocking.rows;
    auto closed = [&](Fold::Closing what) { return t.closing(row_of, int(what), tile_of, head, batch); };
    t.attention(dim, token, head, batch) = as_type(in.output_type, output_of(row_of, tile_of) * closed(Fold::factor));
    t.lse(token, head, batch) = closed(Fold::log_sum_exp);
}

void Builder::declare_partial() {
    t.partial = Func("chunk_state");
    Expr header = select(dim == t.blocking.channels, t.shared(0, 0, row, tile, head, batch), t.total(row, tile, head, batch));
    t.partial(dim, row, tile, head, batch) = select(dim < t.blocking.channels, output_of(row, tile), header);
}

void Builder::declare_merge() {
    const RowInChunks place = row_in_chunks(rows(), t.blocking.rows, chunks(), items.heads);
    auto partial = [&](const Expr &channel, const Expr &of_chunk) {
        const Expr there = unsafe_promise_clamped(channel, 0, t.blocking.channels + 7);
        return t.partial(there, place.row, place.first_tile + of_chunk, place.kv_head, batch);
    };
    ChunkStates states;
    states.elements = {odd, q, column}, states.rows = {token, head, batch};
    states.maximum = [&](const Expr &of_chunk) { return partial(t.blocking.channels, of_chunk); };
    states.element = [&](const Expr &of_chunk) { return partial(column * 8 + q * 2 + odd, of_chunk); };
    const Func of_merge = item("item_of_merge"); // its own: another kernel has the other
    const Interval keys = mask().possible_keys({batch, head, {token, token}, {Expr(0), in.keys - 1}});
    states.first = of_item(of_merge, keys.min) / items.keys_per_chunk, states.last = of_item(of_merge, keys.max) / items.keys_per_chunk;
    states.count = chunks(), states.at_once = t.blocking.merged_at_once, states.base2_scale = base2_scale(in.temperature);
    t.chunk_merge = merge_chunks(states);

    auto merged = [&](const Expr &d) { return t.chunk_merge.merged(d % 2, d / 2 % 4, d / 8, token, head, batch); };
    const Expr sum = merged(t.blocking.channels + 1);
    t.starved = RDom(0, in.keys, "starved");
    t.starved.where(strict_equal(sum, 0.0f));
    t.attends(token, head, batch) = 0;
    t.attends(token, head, batch) = max(t.attends(token, head, batch), attends_to(of_merge, {batch, head, token, t.starved}));
    t.closing(which, token, head, batch) =
        closing(in, which, t.chunk_merge.joint(token, head, batch), sum, head, t.attends(token, head, batch));
    auto closed = [&](Fold::Closing what) { return t.closing(int(what), token, head, batch); };
    t.attention(dim, token, head, batch) = as_type(in.output_type, merged(dim) * closed(Fold::factor));
    t.lse(token, head, batch) = closed(Fold::log_sum_exp);
}

} // namespace

SimtAttention simt_attention(const AttentionInputs &in, const ItemInputs &items, const SimtBlocking &blocking) {
    Builder b{in, items, {}};
    b.t.blocking = blocking, b.t.contiguous = items.contiguous;
    b.declare_items();
    b.declare_operands();
    b.declare_scores();
    b.declare_weights();
    b.declare_output();
    b.declare_state();
    b.declare_sums();
    if (blocking.split)
        b.declare_partial(), b.declare_merge();
    else
        b.declare_results();
    return b.t;
}

} // namespace attune::dsl
