#include "dsl/attention_tiles.h"

#include <map>
#include <string>

#include "dsl/attention_parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/products.h"
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

const Var part{"part"}, which{"which"};

// The declaration under way, and what several of its parts ask.
struct Builder {
    const AttentionInputs &in;
    const ItemInputs &items;
    AttentionTiles t;

    Expr query_token(const Expr &r) const { return min(tile * t.shape.rows + r, in.queries - 1); }
    Expr key_token(const Expr &k, const Expr &b) const { return min(b * t.shape.keys + k, in.keys - 1); }
    Cell cell(const Expr &r, const Expr &k, const Expr &b) const { return {batch, head, tile * t.shape.rows + r, b * t.shape.keys + k}; }
    // Interval analysis sees through names, and not through calls: it is given names, for which the calls stand in afterwards.
    Mask mask() const {
        // Limits may be negative: two windows of other alignments leave such a one.
        const Mask around([](const Cell &c) {
            const Expr at = c.query + named(AttentionTiles::offset);
            return at - named(AttentionTiles::left) <= c.key && c.key <= at + named(AttentionTiles::right);
        });
        return around & prefix(named(AttentionTiles::length));
    }
    static std::string name_of(int what) { return "attune.item." + std::to_string(what); }
    static Expr named(int what) { return Halide::Internal::Variable::make(Halide::Int(32), name_of(what)); }
    Expr of_item(const Expr &analysed) const {
        std::map<std::string, Expr> calls;
        for (int what = 0; what < AttentionTiles::items; what++)
            calls[name_of(what)] = t.item(what, batch);
        return Halide::Internal::substitute(calls, analysed);
    }
    CellBlock cells(const Interval &keys) const {
        const Expr first = tile * t.shape.rows;
        return {batch, head, Interval(first, first + (t.shape.rows - 1)), keys};
    }
    Expr channel(const Expr &p, const Expr &c) const { // which one the c-th of a part is
        const int group = TileShape::group;
        return c / group * (group * t.shape.parts) + p * group + c % group;
    }

    void declare_items();
    void declare_operands();
    void declare_scores();
    void declare_weights();
    void declare_output();
    void declare_state();
    void declare_results();
};

void Builder::declare_items() {
    t.item = Func("item"), t.slope = Func("slope");
    // Beyond this all keys are on one side of all queries.
    const int far = 1 << 29;
    Expr offset = clamp(branch(items.use_offsets != 0, items.offsets(batch), items.offset), -far, far);
    Expr length = branch(items.use_lengths != 0, clamp(items.lengths(batch), 0, in.keys), in.keys);
    t.item(which, batch) = select(which == int(AttentionTiles::offset), offset, which == int(AttentionTiles::length), length,
                                  which == int(AttentionTiles::left), items.left, items.right);
    t.range = Func("range");
    const Interval keys = mask().possible_keys(cells(Interval(0, in.keys - 1)));
    t.range(which, tile, batch) = of_item(select(which == 0, keys.min, keys.max + t.shape.keys)) / t.shape.keys;
    t.slope(head) = branch(items.use_alibi != 0, alibi_slope(head, items.heads), 0.0f);
}

void Builder::declare_operands() {
    const Var chunk("chunk");
    t.query = Func("query_chunk"), t.key = Func("key_chunk"), t.value = Func("value_chunk");
    Expr d = chunk * t.shape.dims + dim, inside = d < in.head_dim, clamped = min(d, in.head_dim - 1);
    Expr q = as_float(in.query(clamped, query_token(row), head, batch));
    Expr k = as_float(in.key(clamped, key_token(key, block), head / in.heads_per_group, batch));
    t.query(row, dim, chunk, tile, head, batch) = select(inside, q, 0.0f);
    t.key(key, dim, chunk, block, head, batch) = select(inside, k, 0.0f);
    Expr token_of_value = key_token(chunk * t.shape.values + key, block);
    Expr v = as_float(in.value(min(dim, in.value_dim - 1), token_of_value, head / in.heads_per_group, batch));
    t.value(dim, key, chunk, block, head, batch) = select(dim < in.value_dim, v, 0.0f);
}

void Builder::declare_scores() {
    t.dot = Func("dot"), t.score = Func("score");
    t.dims = RDom(0, t.shape.dims, 0, (in.head_dim + (t.shape.dims - 1)) / t.shape.dims, "dims");
    t.dot(row, key, block, tile, head, batch) = 0.0f;
    t.dot(row, key, block, tile, head, batch) +=
        t.query(row, t.dims.x, t.dims.y, tile, head, batch) * t.key(key, t.dims.x, t.dims.y, block, head, batch);

    auto score = [&]() -> Halide::FuncRef { return t.score(row, key, block, tile, head, batch); };
    auto once_if = [&](const Expr &used, const char *name) { return t.stages.emplace_back(0, select(used, 1, 0), name), t.stages.back(); };
    const Cell at = cell(row, key, block);
    score() = t.dot(row, key, block, tile, head, batch) * in.scale;
    RDom cap = once_if(in.softcap > 0.0f, "cap");
    score() = softcap(score(), in.softcap + cast<float>(cap));
    RDom alibi = once_if(items.use_alibi != 0, "alibi");
    Expr apart = abs(at.query + alibi + t.item(int(AttentionTiles::offset), batch) - at.key);
    score() = score() - t.slope(head) * cast<float>(apart);
    RDom bias = once_if(in.use_bias != 0, "bias");
    score() = add_bias(score(), in.bias(key_token(key, block) + bias, query_token(row), head, batch));
    const Expr first = block * t.shape.keys;
    Expr full = of_item(mask().allows_all(cells(Interval(first, first + (t.shape.keys - 1)))));
    score() = branch(full, score(), mask_score(score(), of_item(mask().allows(at))));
}

// A weight that underflows is kept above 0: 0 says that the key is masked.
void Builder::declare_weights() {
    t.part_maximum = Func("part_maximum"), t.maximum = Func("maximum"), t.weight = Func("weight"), t.part_sum = Func("part_sum");
    const int per_part = t.shape.keys_per_part();
    const float smallest = 1.17549435e-38f;
    t.keys_of_part = RDom(0, per_part, "keys_of_part"), t.parts = RDom(0, t.shape.parts, "parts");
    auto of_part = [&](Func f) -> Halide::FuncRef { return f(part, row, block, tile, head, batch); };
    auto own = [&](const Func &f) { return f(row, part * per_part + t.keys_of_part, block, tile, head, batch); };
    of_part(t.part_maximum) = masked_score();
    of_part(t.part_maximum) = max(of_part(t.part_maximum), own(t.score));
    t.maximum(row, block, tile, head, batch) = masked_score();
    t.maximum(row, block, tile, head, batch) =
        max(t.maximum(row, block, tile, head, batch), t.part_maximum(t.parts, row, block, tile, head, batch));
    Expr score = t.score(row, key, block, tile, head, batch);
    Expr weight = relative_weight(score, t.maximum(row, block, tile, head, batch), base2_scale(in.temperature));
    t.weight(row, key, block, tile, head, batch) =
        select(strict_equal(score, masked_score()), 0.0f, strict_less(weight, smallest), smallest, weight);
    of_part(t.part_sum) = 0.0f;
    of_part(t.part_sum) += own(t.weight);
}

void Builder::declare_output() {
    t.output = Func("output"), t.bits = Func("bits"), t.careful = Func("careful");
    const int at_once = t.shape.values;
    t.values = RDom(0, at_once, 0, t.shape.keys / at_once, "values"), t.careful_keys = RDom(0, t.shape.keys, "careful_keys");
    t.output(dim, row, block, tile, head, batch) = 0.0f;
    t.output(dim, row, block, tile, head, batch) += t.weight(row, t.values.y * at_once + t.values.x, block, tile, head, batch) *
                                                    t.value(dim, t.values.x, t.values.y, block, head, batch);
    t.channels = RDom(0, t.shape.channels_per_part(), "channels");
    t.bits(part, row, block, tile, head, batch) = 0;
    t.bits(part, row, block, tile, head, batch) = max(t.bits(part, row, block, tile, head, batch),
                                                      magnitude_bits(t.output(channel(part, t.channels), row, block, tile, head, batch)));
    Expr infinite = t.bits(dim / TileShape::group % t.shape.parts, row, block, tile, head, batch) >= Operands::infinite_bits;
    t.careful_keys.where(infinite);
    t.careful(dim, row, block, tile, head, batch) = select(infinite, 0.0f, t.output(dim, row, block, tile, head, batch));
    Expr weight = t.weight(row, t.careful_keys, block, tile, head, batch);
    Expr value = as_float(in.value(min(dim, in.value_dim - 1), key_token(t.careful_keys, block), head / in.heads_per_group, batch));
    // Multiplied and added in one operation, as above: finite values then give the same bits.
    t.careful(dim, row, block, tile, head, batch) += weight * select(strict_equal(weight, 0.0f), 0.0f, value);
}

// As the fold of blocks elsewhere; every part merges its own share of a row's sum and output.
void Builder::declare_state() {
    t.state = Func("state");
    t.merge = RDom(0, state::output + t.shape.channels_per_part(), 0, (in.keys + (t.shape.keys - 1)) / t.shape.keys, "merge");
    const Halide::RVar &slot = t.merge.x, &b = t.merge.y;
    t.merge.where(b >= t.range(0, tile, batch) && b < t.range(1, tile, batch));
    auto at = [&](const Expr &l) -> Halide::FuncRef { return t.state(l, part, row, tile, head, batch); };
    at(lane) = select(lane == state::maximum, masked_score(), 0.0f);
    Expr kept = at(state::maximum), added = t.maximum(row, b, tile, head, batch), maximum = max(kept, added);
    Expr factor = relative_weight(select(slot == state::kept_factor, kept, added), maximum, base2_scale(in.temperature));
    auto merged = [&](const Expr &more) { return at(slot) * at(state::kept_factor) + more * at(state::added_factor); };
    Expr own = clamp(slot - state::output, 0, t.shape.channels_per_part() - 1);
    Expr output = merged(t.careful(channel(part, own), row, b, tile, head, batch));
    Expr sum = merged(t.part_sum(part, row, b, tile, head, batch));
    at(slot) = select(slot >= state::output, output, slot == state::sum, sum, slot == state::maximum, maximum, factor);
}

void Builder::declare_results() {
    t.shared = Func("shared_state"), t.total = Func("total");
    t.attends = Func("attends"), t.closing = Func("closing"), t.attention = Func("attention"), t.lse = Func("lse");
    t.shared(which, part, row, tile, head, batch) = t.state(state::maximum + which, part, row, tile, head, batch);
    auto shared = [&](int lane_of_state, const Expr &p) { return t.shared(lane_of_state - state::maximum, p, row, tile, head, batch); };
    t.total(row, tile, head, batch) = 0.0f;
    t.total(row, tile, head, batch) += shared(state::sum, t.parts);

    t.starved = RDom(0, in.keys, "starved");
    t.starved.where(strict_equal(t.total(row, tile, head, batch), 0.0f));
    const Cell at{batch, head, tile * t.shape.rows + row, t.starved};
    Expr biased = branch(in.use_bias != 0, in.bias(t.starved, query_token(row), head, batch), 0.0f);
    Expr allowed = of_item(mask().allows(at)) && !strict_equal(biased, masked_score());
    t.attends(row, tile, head, batch) = 0;
    t.attends(row, tile, head, batch) = max(t.attends(row, tile, head, batch), select(allowed, 1, 0));
    t.closing(row, which, tile, head, batch) =
        closing(in, which, shared(state::maximum, 0), t.total(row, tile, head, batch), head, t.attends(row, tile, head, batch));

    const int rows = t.shape.rows, group = TileShape::group;
    Expr tile_of = token / rows, row_of = token % rows;
    auto closed = [&](Fold::Closing what) { return t.closing(row_of, int(what), tile_of, head, batch); };
    Expr d = dim % t.shape.channels; // it is less, which is thus seen
    Expr own = d / (group * t.shape.parts) * group + d % group, part_of = d / group % t.shape.parts;
    Expr channel = t.state(state::output + own, part_of, row_of, tile_of, head, batch);
    t.attention(dim, token, head, batch) = as_type(in.output_type, channel * closed(Fold::factor));
    t.lse(token, head, batch) = closed(Fold::log_sum_exp);
}

} // namespace

AttentionTiles attention_tiles(const AttentionInputs &in, const ItemInputs &items, const TileShape &shape) {
    Builder b{in, items, {}};
    b.t.shape = shape;
    b.declare_items();
    b.declare_operands();
    b.declare_scores();
    b.declare_weights();
    b.declare_output();
    b.declare_state();
    b.declare_results();
    return b.t;
}

} // namespace attune::dsl
