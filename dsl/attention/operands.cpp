// q, k and v as the inner loops read them: copies, packed, or where the caller has them.
#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/in_place.h"
#include "dsl/numeric.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Tuple;

namespace {

// Whether channels 2 d and 2 d + 1 of q and k make a pair, which lie side by side: so a pair is read as one word, and a row of k lies as
// its copy does.
bool has_words(const AttentionInputs &in, const Blocking &blocking) {
    const Products &products = blocking.products;
    return products.pairs && in.query.type().is_bfloat() && in.key.type().is_bfloat() && !in.positioning &&
           can_prove(in.head_dim % (products.depth() * blocking.value_lanes) == 0);
}

// What the product takes of q or k at d: a channel, or two as a pair: where they aren't words, d and d + half of them. They are numbers of
// bf16 already, or of int8, unless a position came in. Past D there are zeros.
Expr packed_channel(const AttentionInputs &in, const Blocking &blocking, const Func &x, const Expr &d, const Expr &token,
                    const Expr &head_of_x, const std::function<Expr(const Expr &)> &channel, const Expr &stored_dims, int which_part) {
    const Products &products = blocking.products;
    if (!products.pairs) return channel(d);
    const int lanes = blocking.value_lanes;
    if (has_words(in, blocking)) return words_from(x(d / lanes * (lanes * products.depth()) + d % lanes, token, head_of_x, batch));
    const bool rounded = (x.type().is_bfloat() || x.type() == Halide::Int(8)) && !in.positioning;
    const bool is_padded = !can_prove(in.head_dim == stored_dims * products.depth());
    return products.pack([&](int which) {
        const Expr c = which == 0 ? d : d + products.packed(in.head_dim), own = channel(is_padded ? min(c, in.head_dim - 1) : c);
        const Expr term = !products.rounds() ? part_of_float(own, which_part) : rounded ? own : round_to_bfloat16(own);
        return is_padded ? select(c < in.head_dim, term, 0.0f) : term;
    });
}

// A channel of v, or of two keys one after the other as a pair.
Expr make_packed_value(const AttentionInputs &in, const Blocking &blocking, const Operands &o, const Expr &padded_value_dim,
                       const std::function<Expr(const Expr &)> &source, const Expr &packed_key, int which_part) {
    const Products &products = blocking.products;
    const Expr kv_head = head / in.heads_per_group;
    const bool exact = blocking.value_step == 1 || is_const(padded_value_dim);
    Expr channel = blocking.value_step == 1 ? Expr(dim) : min(dim, in.value_dim - 1);
    return products.pack([&](int which) {
        const Expr of_block = packed_key * products.depth() + which, token = source(of_block);
        const bool scaled = o.value_scale.defined(); // which takes the number without its scale
        Expr value =
            as_float(scaled ? in.pages.stored(in.pages.value, channel, token, kv_head, batch) : in.value(channel, token, kv_head, batch));
        if (scaled) value = round_away_to_bfloat16(value * o.value_scale(of_block, block, task, head, batch));
        if (products.parts > 1) value = part_of_float(select(magnitude_bits(value) < Operands::infinite_bits, value, 0.0f), which_part);
        return exact ? value : select(dim < in.value_dim, value, 0.0f);
    });
}

// A pair of bf16 with zeros for Inf and NaN.
Expr finite_pair(const Expr &pair) {
    auto half = [&](const Expr &all, const Expr &exponent) { return select((pair & exponent) == exponent, Expr(0u), pair & all); };
    return half(Expr(0xffffu), Expr(0x7f80u)) | half(Expr(0xffff0000u), Expr(0x7f800000u));
}

// Where an element of a panel lies, from its first.
Expr element_of(const Expr &packed_key_of_panel, const Expr &width, const Expr &d) {
    return cast<int64_t>(packed_key_of_panel) * cast<int64_t>(width) + cast<int64_t>(d);
}

// The largest of what a Func has for each of some lanes.
Expr over_lanes(const Func &lane_bits, int lanes) {
    Expr all = lane_bits(0, block, task, head, batch);
    for (int lane = 1; lane < lanes; lane++)
        all = max(all, lane_bits(lane, block, task, head, batch));
    return all;
}

// Integers order |v| as floats do, with Inf and NaN on top, and no floating-point assumption can hide a NaN from them. Where the copies
// hold no such values, v is looked at where the caller has it.
void declare_value_bits(Operands &o, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges,
                        const std::function<Expr(const Expr &)> &source) {
    const bool copied = blocking.values_together == 1;
    // Only of copies what lies beside the task's keys is looked at: there it is multiplied, too.
    const int step = o.value_lanes, depth = copied ? blocking.products.depth() : 1;
    const KeyRanges::Bound end = copied ? KeyRanges::panels_end : KeyRanges::end;
    const Expr steps = Halide::Internal::simplify(o.stored_value_dim / step);
    Halide::Var each("each");
    auto lane_bits = [&]() -> Halide::FuncRef { return o.value_lane(each, block, task, head, batch); };
    auto value = [&](const RDom &r) { return o.value(r.x * step + each, r.y, block, task, head, batch); };
    o.value_steps = RDom(0, steps, 0, blocking.keys_of_panels() / depth, "value_steps");
    only_keys_of_task(o.value_steps, ranges, block * blocking.keys_per_block + o.value_steps.y * depth, depth, end);
    if (o.values_may_be_in_place) o.value_steps.where(o.value_steps.y >= o.place(block, task, head, batch)[Operands::first_copied_value]);
    const Expr channel = min(o.value_steps.x * step + each, in.value_dim - 1);
    const Expr given = in.value(channel, source(o.value_steps.y), head / in.heads_per_group, batch);
    const Expr bits = copied ? blocking.products.magnitude_bits(value(o.value_steps)) : magnitude(given);
    lane_bits() = cast(bits.type(), 0);
    lane_bits() = max(lane_bits(), bits);
    if (o.values_may_be_in_place) {
        const auto place = o.place(block, task, head, batch);
        o.given_steps = RDom(0, steps, 0, blocking.keys_of_panels(), "given_steps");
        o.given_steps.where(o.given_steps.y < place[Operands::first_copied_value]);
        only_keys_of_task(o.given_steps, ranges, block * blocking.keys_per_block + o.given_steps.y, 1);
        const Expr in_place = read_in_place(value(o.given_steps), place[Operands::value_origin]);
        lane_bits() = max(lane_bits(), blocking.products.magnitude_bits(in_place));
    }
    const Expr largest = over_lanes(o.value_lane, step);
    o.value_bits(block, task, head, batch) = copied ? largest : magnitude_bits(as_float(Halide::reinterpret(given.type(), largest)));
}

// Which keys of the block have numbers whose products tiles make wrong, if any: of Inf and NaN they are NaN, and of large ones with small
// ones digits are lost below 2^-126. The first part says so.
void declare_key_bits(Operands &o, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Products &products = blocking.products;
    const int lanes = blocking.value_lanes;
    const Expr words = products.packed(in.head_dim), begin = block * blocking.keys_per_block;
    const auto bits = [&](const Expr &word, const Expr &k) {
        return products.magnitude_bits(o.key(products.at({word, k, block, task, head, batch}, 0)));
    };
    const Halide::Var each("each");
    o.key_lane = Func("key_lane"), o.key_bits = Func("key_bits"), o.each_key_bits = Func("each_key_bits");
    o.key_steps = RDom(0, words / lanes, 0, blocking.keys_of_panels(), "key_steps");
    only_keys_of_task(o.key_steps, ranges, begin + o.key_steps.y, products.depth());
    const auto lane_bits = [&]() -> Halide::FuncRef { return o.key_lane(each, block, task, head, batch); };
    lane_bits() = 0;
    lane_bits() = max(lane_bits(), bits(o.key_steps.x * lanes + each, o.key_steps.y));
    o.key_bits(block, task, head, batch) = over_lanes(o.key_lane, lanes);
    o.key_words = RDom(0, words, "key_words");
    o.key_words.where(o.key_bits(block, task, head, batch) >= Operands::large_bits);
    const auto of_key = [&]() -> Halide::FuncRef { return o.each_key_bits(key, block, task, head, batch); };
    of_key() = 0;
    of_key() = max(of_key(), bits(o.key_words, key));
}

// And which rows of the tile.
void declare_query_bits(Operands &o, const AttentionInputs &in, const Blocking &blocking) {
    const Products &products = blocking.products;
    o.query_bits = Func("query_bits"), o.tile_query_bits = Func("tile_query_bits");
    o.query_words = RDom(0, products.packed(in.head_dim), "query_words"), o.query_rows = RDom(0, blocking.rows_per_tile, "query_rows");
    const Expr word = o.query(products.at({row, o.query_words, tile, head, batch}, 0));
    o.query_bits(row, tile, head, batch) = 0;
    o.query_bits(row, tile, head, batch) = max(o.query_bits(row, tile, head, batch), products.magnitude_bits(word));
    o.tile_query_bits(tile, head, batch) = 0;
    o.tile_query_bits(tile, head, batch) = max(o.tile_query_bits(tile, head, batch), o.query_bits(o.query_rows, tile, head, batch));
}

// Rows lie as their copies would where a head's are one after the other. Panels that go past the last key are copied all the same.
void declare_places(Operands &o, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Products &products = blocking.products;
    if (!blocking.reads_in_place || !in.pages.as_stored()) return;
    o.keys_may_be_in_place = products.pairs ? has_words(in, blocking) : in.key.type() == products.type() && !in.positioning;
    o.values_may_be_in_place = !products.pairs && in.value.type() == products.type() && o.value_lanes == blocking.value_lanes;
    if (!o.keys_may_be_in_place && !o.values_may_be_in_place) return;
    const Expr begin = block * blocking.keys_per_block;
    const Expr first_past = ranges.of_task(task, head, batch)[KeyRanges::first_past_keys] - begin;
    const auto lie = [&](bool may, const Halide::Expr &stride, const Expr &width, const Expr &of_copy) -> Expr {
        return may ? !in.pages.in_several() && stride == width && width == of_copy : Halide::Internal::const_false();
    };
    const Expr keys_lie = lie(o.keys_may_be_in_place, in.pages.key_strides->place, in.head_dim, in.head_dim);
    const Expr values_lie = lie(o.values_may_be_in_place, in.pages.value_strides->place, in.value_dim, o.stored_value_dim);
    const auto origin = [&](const Expr &lies, const Func &f) {
        return select(lies, address_of(f(0, begin, head / in.heads_per_group, batch)), Expr(uint64_t(0)));
    };
    o.place = Func("place");
    o.place(block, task, head, batch) =
        Tuple(origin(keys_lie, in.key), origin(values_lie, in.value), select(keys_lie, first_past, 0), select(values_lie, first_past, 0));
}

void declare_panel_place(Operands &o, const AttentionInputs &in, const Blocking &blocking, const Panels &panels) {
    const Halide::Var slot("slot");
    const Expr of_tile = blocking.task_of(tile), begin = panel_key_in_block(blocking, panels, slot);
    const auto place = o.place(block, of_tile, head, batch);
    // The panel's first key lies where the caller has it, or in the copy.
    const auto lies = [&](bool may, const Func &copy, const Expr &width, Operands::Place given, Operands::Place first) -> Expr {
        if (!may) return Expr(uint64_t(0));
        const Expr further = cast<uint64_t>(begin * width * copy.type().bytes());
        return select(begin < place[first], place[given] + further, address_of(copy(0, begin, block, of_tile, head, batch)));
    };
    const auto if_listed = [&](const Expr &address) { return defined_if(slot < listed(panels, Panels::listed_count), address); };
    o.panel_place = Func("panel_place");
    o.panel_place(slot, tile, block, head, batch) =
        Tuple(if_listed(lies(o.keys_may_be_in_place, o.key, blocking.products.packed(in.head_dim), Operands::key_origin,
                             Operands::first_copied_key)),
              if_listed(lies(o.values_may_be_in_place, o.value, o.stored_value_dim, Operands::value_origin, Operands::first_copied_value)));
}

} // namespace

Operands operands(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels,
                  const Expr &padded_value_dim) {
    const Expr keys = blocking.keys_per_block;
    const Products &products = blocking.products;
    const int depth = products.depth(), together = blocking.values_together;
    Operands o;
    o.query_lines = Func("query_lines"), o.query = Func("packed_query"), o.key = Func("key_block"), o.value_words = Func("value_words");
    o.value = Func("value_block"), o.value_lane = Func("value_lane"), o.value_bits = Func("value_bits");

    const int vector = blocking.value_lanes;
    const auto in_vectors = [&](const Expr &count) { return Halide::Internal::simplify(divided_up(count, vector) * vector); };
    o.stored_dims = products.packed(in.head_dim);
    if (products.pairs) o.stored_dims = in_vectors(o.stored_dims);

    const Expr query = query_of(in, blocking, row);
    o.query_lines(products.at({dim, row, tile, head, batch}, part)) = of_part(products, [&](int which) {
        const auto channel = [&](const Expr &channel) {
            const Expr x = in.query_channel(channel, query, head, batch);
            return products.parts > 1 ? x * query_scale(in, blocking) : x;
        };
        return packed_channel(in, blocking, in.query, dim, query, head, channel, o.stored_dims, which);
    });
    // Rows that nothing is multiplied with aren't packed.
    o.query(products.at({row, dim, tile, head, batch}, part)) = defined_if(
        is_multiplied(in, blocking, row), scaled_query(in, blocking, o.query_lines(products.at({dim, row, tile, head, batch}, part))));

    o.stored_value_dim = is_const(padded_value_dim) ? padded_value_dim : in_vectors(padded_value_dim);
    o.value_lanes = can_prove(o.stored_value_dim % vector == 0) ? vector : blocking.value_step;
    // Where the caller's own are looked at, twice as many numbers of 16 bits are a vector.
    const bool half_as_wide = together > 1 && in.value.type().bits() == 16;
    if (half_as_wide && can_prove(o.stored_value_dim % (2 * vector) == 0)) o.value_lanes = 2 * vector;
    declare_places(o, in, blocking, ranges);
    const auto is_copied = [&](bool may_lie, Operands::Place first) {
        return may_lie ? key >= o.place(block, task, head, batch)[first] : Halide::Internal::const_true();
    };
    // Whole panels are copied, so a few keys behind the task's own come along. Past the last key it is repeated: its scores are masked.
    // Only what is needed is defined.
    auto source = [&](const Expr &k) { return min(Halide::likely(block * keys + k), in.keys - 1); };
    const Expr of_task = is_of_task(ranges, block * keys + key, depth);
    const Expr kv_head = head / in.heads_per_group, place = in.pages.place(source(key)), page = in.pages.page(source(key), batch);
    const bool apart = scaled_by_key(in, blocking); // of its scale
    const auto channel_of_key = [&](const Expr &channel) {
        if (!apart) return in.key_channel(channel, source(key), head, batch);
        return as_float(in.pages.stored(in.pages.key, channel, source(key), kv_head, batch));
    };
    o.key(products.at({dim, key, block, task, head, batch}, part)) =
        defined_if(of_task && is_copied(o.keys_may_be_in_place, Operands::first_copied_key), of_part(products, [&](int which) {
                       const Func &x = apart ? in.pages.key : in.key;
                       return packed_channel(in, blocking, x, dim, source(key), kv_head, channel_of_key, o.stored_dims, which);
                   }));
    // Times Inf a key is Inf and NaN, and its score NaN, not -Inf, which would be as good as masked.
    const auto scale_of = [&](const Func &scales) { return defined_if(of_task, nan_unless_finite(scales(place, kv_head, page))); };
    if (apart) o.key_scale = Func("key_scale_block"), o.key_scale(key, block, task, head, batch) = scale_of(in.pages.key_scale);
    if (in.pages.scaled() && products.rounds()) {
        o.value_scale = Func("value_scale_block"), o.value_scale(key, block, task, head, batch) = scale_of(in.pages.value_scale);
        o.least_spoilt_bits = Operands::infinite_bits - 0x8000;
    }
    o.value_words(products.at({dim, key, block, task, head, batch}, part)) = of_part(products, [&](int which) {
        const Expr packed = make_packed_value(in, blocking, o, padded_value_dim, source, key, which);
        return together > 1 && products.parts == 1 ? finite_pair(packed) : packed;
    });
    const Expr value = o.value_words(products.at({dim, key, block, task, head, batch}, part));
    const Expr first = block * keys + key / together * (together * depth);
    o.value(products.at({dim, key, block, task, head, batch}, part)) =
        defined_if(is_of_task(ranges, first, together * depth) && is_copied(o.values_may_be_in_place, Operands::first_copied_value), value);
    declare_value_bits(o, in, blocking, ranges, source);
    if (products.parts > 1) declare_key_bits(o, in, blocking, ranges), declare_query_bits(o, in, blocking);
    if (o.place.defined()) declare_panel_place(o, in, blocking, panels);
    return o;
}

Expr of_part(const Products &products, const std::function<Expr(int)> &one) {
    Expr all = one(products.parts - 1);
    for (int i = products.parts - 2; i >= 0; i--)
        all = select(part == i, one(i), all);
    return all;
}

Expr packed_key(const AttentionInputs &in, const Blocking &blocking, const Operands &o, const Expr &slot, const Expr &begin,
                const Expr &lane, const Expr &d, const Expr &part) {
    const Expr copied = o.key(blocking.products.at({d, begin + lane, block, blocking.task_of(tile), head, batch}, part));
    if (!o.keys_may_be_in_place) return copied;
    const Expr element = element_of(lane, blocking.products.packed(in.head_dim), d);
    return read_in_place(copied, o.panel_place(slot, tile, block, head, batch)[Operands::key_origin], element);
}

Expr packed_value(const Blocking &blocking, const Operands &o, const Panels &panels, const Expr &slot, const Expr &packed_key,
                  const Expr &part) {
    const Expr begin = panel_key_in_block(blocking, panels, slot) / blocking.products.depth();
    const Expr copied = o.value(blocking.products.at({dim, begin + packed_key, block, blocking.task_of(tile), head, batch}, part));
    if (!o.values_may_be_in_place) return copied;
    const Expr element = element_of(packed_key, o.stored_value_dim, dim);
    return read_in_place(copied, o.panel_place(slot, tile, block, head, batch)[Operands::value_origin], element);
}

} // namespace attune::dsl
