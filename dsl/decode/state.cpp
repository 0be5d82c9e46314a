// From masked scores to a chunk's softmax state.
#include "dsl/decode/parts.h"

#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/decode/value_passes.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

// The keys of a part, `depth` of them at a time, one of each stream and then the next: of which lane of a panel, and of which stream.
struct PartKeys {
    int depth;
    RDom nth;
    Expr of_stream, packed_lane;

    PartKeys(const Decode &d, const std::string &name, bool packed)
        : depth(packed ? d.products.depth() : 1),
          nth(0, d.blocking.in_turn ? 1 : d.blocking.streams, 0, d.blocking.keys_per_part / depth, name),
          of_stream(d.blocking.in_turn ? Expr(part) : Expr(nth.x)),
          packed_lane(d.blocking.in_turn ? Expr(nth.y) : part * (d.blocking.keys_per_part / depth) + nth.y) {}

    Expr of_lane(int which = 0) const { return packed_lane * depth + which; }
};

Expr share(const Decode &d, const Func &shares, const PartKeys &keys) {
    return (keys.depth > 1 ? d.packed_share : shares)(keys.packed_lane, keys.of_stream, step, row, chunk, head, batch);
}

void declare_packed_share(Decode &d) {
    const Halide::Var packed_lane("packed_lane");
    const Products &products = d.tiled ? d.blocking.tiles.products : d.products;
    d.packed_share = Func("packed_share"), d.packs = steps_of(d, "pack_steps", d.tiled ? d.tiled.used : Halide::Internal::const_true());
    auto share = [&](int which) { return packed_number(d, packed_lane * products.depth() + which, d.packs.x, d.packs.y); };
    d.packed_share(packed_lane, stream, step, row, chunk, head, batch) = Halide::undef(products.type());
    d.packed_share(packed_lane, d.packs.x, d.packs.y, row, chunk, head, batch) = products.pack(share);
}

// Vector `v` of the values of a key; or of a pair of keys. Where words of neighbouring channels are read, a vector of them makes two of
// channels, and one of either key two of pairs. Numbers that are converted are put together as they are.
Expr packed_values(const Decode &d, const Expr &packed_lane, const Expr &of_stream, const Expr &v, Ahead ahead = {}, const Expr &from = 0) {
    const int channels = d.channels_per_lane(Cached::value);
    auto key = [&](int which) { return key_entry(d, packed_lane * d.products.depth() + which, of_stream, step); };
    if (d.makes_pairs()) return d.products.pack([&](int which) { return number_lane_of(d, Cached::value, key(which), v, ahead, from); });
    ahead.wanted = ahead.wanted && v % channels == 0;
    auto lanes = [&](int which) { return lane_of(d, Cached::value, d.blocking.lanes, key(which), v / channels, ahead, from); };
    if (d.products.pairs) return pairs_of_words(lanes(0), lanes(1), v % channels);
    return d.by_words ? bfloat16_of_words(lanes(0), v % channels) : lanes(0);
}

// Which vectors of the output: those from `first` on, `at_once` in each pass; made of whole vectors of what is packed, or of these and, as
// the last of the only pass, of the channels that fill none; or of the vector that words leave; or of channels that fill none.
struct OutputVectors {
    enum Of { whole, whole_and_rest, single, rest };
    std::string name;
    Expr first;
    int at_once;
    Expr passes;
    Of of;

    Expr first_of(const Expr &pass) const { return is_const_one(Halide::Internal::simplify(passes)) ? first : first + pass * at_once; }
};

// How many vectors of the output a line of a value makes.
int vectors_of_line(const Decode &d) { return vectors_per_line(d, Cached::value, d.blocking.lanes); }

bool has_equal_passes(const Decode &d) { return are_equal_passes(d.blocking.vectors_at_once, vectors_of_line(d)); }

// Vector `vector` of pass `pass`. Of equal passes it is counted from the pass's first, which takes fewer instructions; else from the
// value's first, as only so the bounds of passes that follow from the width show that there is such a channel.
Expr values_read(const Decode &d, const OutputVectors &vectors, const Halide::Var &pass, Ahead ahead) {
    const Expr listed = key_entry(d, lane, stream, step), first = vectors.first_of(pass);
    if (vectors.of == OutputVectors::single) return single_lane_of(d, Cached::value, listed, ahead);
    if (vectors.of == OutputVectors::rest) return rest_lane_of(d, Cached::value, listed, pass, ahead);
    const bool from_first = has_equal_passes(d);
    const Expr v = from_first ? Expr(vector) : first + vector, from = from_first ? first * d.blocking.lanes : 0;
    ahead.wanted = v % vectors_of_line(d) == 0;
    const Expr whole = packed_values(d, lane, stream, v, ahead, from);
    if (vectors.of == OutputVectors::whole) return whole;
    return branch(v == vectors.at_once - 1, rest_lane_of(d, Cached::value, listed, v, ahead, from), whole);
}

// By an addition of its own: LLVM would have a sum of multiply-adds begin with `sum`, and round differently, where it sees all of them.
void add_part(Func sum, const Expr &of_vector, const Expr &of_part) {
    auto total = [&]() -> Halide::FuncRef { return sum(channel, of_vector, row, chunk, head, batch); };
    total() = strict_add(total(), of_part);
}

void declare_values(Decode &d, const OutputVectors &vectors) {
    const std::string &name = vectors.name;
    const bool packed = vectors.of == OutputVectors::whole;
    const PartKeys keys(d, "keys_of_" + name, packed);
    const Halide::Var pass("pass");
    ValueProducts p;
    p.value = Func("value_of_" + name), p.sum = Func("sum_of_" + name), p.keys = keys.nth;
    const Ahead ahead = {true, d.rows_per_head() == 1, true};
    p.value(channel, vector, pass, lane, stream, step, chunk, head, batch) = values_read(d, vectors, pass, ahead);
    auto sum = [&]() -> Halide::FuncRef { return p.sum(channel, vector, pass, part, step, row, chunk, head, batch); };
    const Expr value = p.value(channel, vector, pass, keys.packed_lane, keys.of_stream, step, chunk, head, batch);
    sum() = -0.0f; // to which the first product is added for nothing: -0 + x = x for any x
    const Expr shared = share(d, d.scaled_share.defined() ? d.scaled_share : d.share, keys);
    sum() = (packed ? d.products : d.products.singles()).add(sum(), shared, value);
    p.store = RDom(0, vectors.at_once, 0, vectors.passes, 0, d.blocking.parts_per_step(), 0, d.steps_per_chunk(), "store_of_" + name);
    const RDom &s = p.store;
    p.store.where(s.w < select(untiled(d), steps(d), 0));
    add_part(d.output, vectors.first_of(s.y) + s.x, p.sum(channel, s.x, s.y, s.z, s.w, row, chunk, head, batch));
    d.values.push_back(p);
}

} // namespace

Expr guarded_factor(const Decode &d, const Expr &factor, const Expr &of_lane, const Expr &of_stream) {
    const AttentionInputs &in = d.inputs;
    const Cell cell = cell_of_row(in, row, panel_begin(d, of_stream, step) + of_lane);
    const Expr kept = branch(in.dropout.used(), in.dropout.keeps(cell), 1.0f);
    return guarded_value(factor, d.masked(of_lane, of_stream, step, row, chunk, head, batch), kept);
}

namespace {

// Without what is masked or dropped. In the same order, so that what is left out changes no bit of the rest.
void declare_careful_sum(Decode &d) {
    const AttentionInputs &in = d.inputs;
    auto careful = [&]() -> Halide::FuncRef { return d.careful_sum(channel, vector, part, step, row, chunk, head, batch); };
    careful() = -0.0f;
    auto add = [&](const Products &products, PartKeys keys, const Expr &used, const Expr &packed) {
        keys.nth.where(used);
        // Of a number with a scale, which may be NaN, it is the share times the scale that is left out.
        const bool scaled = in.pages.scaled();
        const Expr shared = share(d, scaled ? d.scaled_share : d.share, keys);
        const Expr doubtful = scaled ? shared : packed, sure = scaled ? packed : shared;
        auto guarded = [&](int which) { return guarded_factor(d, products.unpack(doubtful, which), keys.of_lane(which), keys.of_stream); };
        careful() = products.add(careful(), sure, products.pack(guarded));
        d.careful_keys.push_back(keys.nth);
    };
    const Expr whole = d.whole_vectors(Cached::value), at = vector * d.blocking.lanes + channel;
    const bool words = d.in_words();
    if (words) {
        const PartKeys keys(d, "careful_words", true);
        const Expr v = Halide::unsafe_promise_clamped(vector, 0, whole - 1);
        add(d.products, keys, vector < whole, packed_values(d, keys.packed_lane, keys.of_stream, v));
        if (!may_be_some(in.value_dim - whole * d.blocking.lanes)) return;
    }
    const PartKeys keys(d, "careful_keys", false);
    const Expr of_rest = words ? vector >= whole : Halide::Internal::const_true();
    const Expr c = Halide::unsafe_promise_clamped(at, 0, in.value_dim - 1);
    const Expr listed = key_entry(d, keys.packed_lane, keys.of_stream, step);
    add(d.products.singles(), keys, of_rest && at < in.value_dim, channel_of(d, Cached::value, listed, c));
}

// Sum of share * v. Where it isn't finite, it is made again with the masks looked at: 0 * NaN is NaN, and so would be the result.
void declare_output(Decode &d) {
    const Products &products = d.products;
    const int lanes = d.blocking.lanes;
    auto output = [&](const Func &f, const Expr &v) -> Halide::FuncRef { return f(channel, v, row, chunk, head, batch); };
    if (products.pairs || d.tiled) declare_packed_share(d);

    // A part's values are in the nearest cache when those follow that are left over, and those channels that fill no vector.
    const Expr whole = d.whole_vectors(Cached::value), singles = single_vectors(d, Cached::value);
    output(d.output, vector) = 0.0f;
    const bool rest_with_others = has_equal_passes(d) && !d.in_words();
    const Expr with_rest = rest_with_others ? rest_of(d, Cached::value) != 0 : Halide::Internal::const_false();
    const int depth = d.channels_per_lane(Cached::value);
    for (const ValuePasses &p : value_passes(whole, d.blocking.vectors_at_once, vectors_of_line(d), depth, with_rest)) {
        const std::string name = "values_by_" + std::to_string(p.at_once) + (p.take_rest ? "_with_rest" : "");
        declare_values(d, {name, p.first, p.at_once, p.count, p.take_rest ? OutputVectors::whole_and_rest : OutputVectors::whole});
    }
    if (may_be_some(singles)) declare_values(d, {"single_values", whole, 1, singles, OutputVectors::single});
    if (has_rest(d, Cached::value) && !rest_with_others)
        declare_values(d, {"rest_values", whole + singles, 1, rest_vectors(d, Cached::value), OutputVectors::rest});

    if (d.tiled) declare_tiled_output(d);

    d.outputs = RDom(0, d.value_vectors(), "outputs"), d.channels_of_bits = RDom(0, lanes, "channels_of_bits");
    d.lane_bits(channel, row, chunk, head, batch) = 0;
    d.lane_bits(channel, row, chunk, head, batch) =
        max(d.lane_bits(channel, row, chunk, head, batch), magnitude_bits(output(d.output, d.outputs)));
    d.output_bits(row, chunk, head, batch) = 0;
    d.output_bits(row, chunk, head, batch) =
        max(d.output_bits(row, chunk, head, batch), d.lane_bits(d.channels_of_bits, row, chunk, head, batch));

    Expr all_finite = d.output_bits(row, chunk, head, batch) < Operands::infinite_bits;
    declare_careful_sum(d);
    d.careful_parts = RDom(0, d.blocking.parts_per_step(), 0, d.steps_per_chunk(), "careful_parts");
    d.careful_parts.where(d.careful_parts.y < select(all_finite || !untiled(d), 0, steps(d)));
    output(d.careful, vector) = 0.0f;
    add_part(d.careful, vector, d.careful_sum(channel, vector, d.careful_parts.x, d.careful_parts.y, row, chunk, head, batch));
    if (d.tiled) declare_tiled_careful(d, all_finite);

    Expr header = select(channel == int(Decode::header_maximum), d.maximum(row, chunk, head, batch), d.sum(row, chunk, head, batch));
    Expr of_output = max(vector - 1, 0);
    output(d.partial, vector) = select(vector == 0, header, all_finite, output(d.output, of_output), output(d.careful, of_output));
}

} // namespace

void declare_chunk_state(Decode &d) {
    const AttentionInputs &in = d.inputs;
    auto over = [&](const Func &f, const RDom &r) -> Halide::FuncRef { return f(lane, r.x, r.y, row, chunk, head, batch); };
    auto by_lane = [&](const Func &f, const Expr &l) -> Halide::FuncRef { return f(l, row, chunk, head, batch); };
    auto of_row = [&](const Func &f) -> Halide::FuncRef { return f(row, chunk, head, batch); };
    d.lanes = RDom(0, d.blocking.keys_per_panel, "lanes");
    d.maximum_steps = steps_of(d, "maximum_steps"), d.sum_steps = steps_of(d, "sum_steps");
    by_lane(d.lane_maximum, lane) = masked_score();
    by_lane(d.lane_maximum, lane) = max(by_lane(d.lane_maximum, lane), over(d.masked, d.maximum_steps));
    of_row(d.maximum) = masked_score();
    of_row(d.maximum) = max(of_row(d.maximum), by_lane(d.lane_maximum, d.lanes));
    d.weight(lane, stream, step, row, chunk, head, batch) = Halide::undef<float>();
    // The sum is that of the weights as the product takes them, so that rounding them cancels.
    const Expr scale = base2_scale(in.temperature);
    auto weigh = [&](bool pairs, const std::string &name, const Expr &used) {
        const RDom r = steps_of(d, name, used);
        const Expr score = over(d.masked, r);
        over(d.weight, r) = pairs ? cut_to_bfloat16(relative_weight_in_bfloat16(score, of_row(d.maximum), scale))
                                  : relative_weight(score, of_row(d.maximum), scale);
        d.weights.push_back(r);
    };
    const bool tiles_take_others = d.tiled && !in.pages.scaled(); // of bf16; with scales it is their product that is rounded
    weigh(d.reads_pairs(), "weight_steps", tiles_take_others ? untiled(d) : Halide::Internal::const_true());
    if (tiles_take_others) weigh(true, "tiled_weight_steps", d.tiled.used);
    by_lane(d.lane_sum, lane) = 0.0f;
    by_lane(d.lane_sum, lane) += over(d.weight, d.sum_steps);
    of_row(d.sum) = 0.0f;
    of_row(d.sum) += by_lane(d.lane_sum, d.lanes);

    d.shares = steps_of(d, "share_steps"), d.dropped = steps_of(d, "dropped_steps", in.dropout.used());
    d.share(lane, stream, step, row, chunk, head, batch) = Halide::undef<float>();
    over(d.share, d.shares) = over(d.weight, d.shares);
    const Cell cell = cell_of_row(in, row, panel_begin(d, d.dropped.x, d.dropped.y) + lane);
    over(d.share, d.dropped) *= in.dropout.keeps(cell);
    if (in.pages.scaled()) {
        d.scaled = steps_of(d, "scaled_shares"), d.scaled_share = Func("scaled_share");
        d.scaled_share(lane, stream, step, row, chunk, head, batch) = Halide::undef<float>();
        over(d.scaled_share, d.scaled) = over(d.share, d.scaled) * scale_of(d, Scale::value, key_entry(d, lane, d.scaled.x, d.scaled.y));
    }
    declare_output(d);
}

} // namespace attune::dsl
