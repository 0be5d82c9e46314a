// From masked scores to a chunk's softmax state.
#include "dsl/decode_parts.h"

#include "dsl/attention_parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

// A vector of the values of a key; or of a pair of keys: what is read of each are words of neighbouring channels, and a vector of both
// makes two of pairs.
Expr packed_values(const Decode &d, const Expr &packed_lane, const Expr &of_stream, Ahead ahead = {}) {
    const int depth = d.products.depth();
    ahead.wanted = vector % depth == 0;
    auto lanes = [&](int which) {
        return lane_of(d, Cached::value, d.blocking.lanes, listed_key(d, packed_lane * depth + which, of_stream, step), vector / depth,
                       ahead);
    };
    return d.products.pairs ? pairs_of_words(lanes(0), lanes(1), vector % depth) : lanes(0);
}

// For channels past those that fill vectors, too.
Expr careful_values(const Decode &d, const Expr &packed_lane, const Expr &of_stream) {
    const AttentionInputs &in = d.inputs;
    if (d.products.pairs) return packed_values(d, packed_lane, of_stream);
    Expr c = Halide::unsafe_promise_clamped(vector * d.blocking.lanes + channel, 0, in.value_dim - 1);
    return channel_of(d, Cached::value, listed_key(d, packed_lane, of_stream, step), c);
}

const Halide::Var part{"part"};

RDom keys_of_part(const Decode &d, const std::string &name) {
    return RDom(0, d.blocking.keys_per_panel / d.products.depth(), 0, d.blocking.streams / d.blocking.parts_per_step(), name);
}

Expr stream_of(const RDom &keys) { return part + keys.y; } // either is 0

Expr share(const Decode &d, const RDom &keys) { return d.packed_share(keys.x, stream_of(keys), step, row, chunk, head, batch); }

void add_part(Func sum, const Func &of_part, const Expr &of_vector, const Expr &nth, const Expr &of_step) {
    sum(channel, of_vector, row, chunk, head, batch) += of_part(channel, of_vector, nth, of_step, row, chunk, head, batch);
}

// Vectors of the output from `first` on, `at_once` in each pass. `rest`: channels of the vector, where it isn't whole.
void declare_values(Decode &d, const std::string &name, const Expr &first, int at_once, const Expr &passes, const Expr &rest = {}) {
    const AttentionInputs &in = d.inputs;
    ValueProducts p;
    p.value = Func("value_of_" + name), p.sum = Func("sum_of_" + name), p.keys = keys_of_part(d, "keys_of_" + name);
    const Ahead ahead = {in.value_dim, d.rows_per_head() == 1, false, turn};
    p.value(channel, vector, lane, stream, step, turn, chunk, head, batch) =
        rest.defined() ? lane_of(d, Cached::value, d.blocking.lanes, listed_key(d, lane, stream, step), vector, ahead, rest)
                       : packed_values(d, lane, stream, ahead);
    auto sum = [&]() -> Halide::FuncRef { return p.sum(channel, vector, part, step, row, chunk, head, batch); };
    const Expr turn_of_row = row / d.blocking.rows_per_turn;
    const Expr value = p.value(channel, vector, p.keys.x, stream_of(p.keys), step, turn_of_row, chunk, head, batch);
    sum() = 0.0f;
    sum() = rest.defined() ? sum() + share(d, p.keys) * value : d.products.add(sum(), share(d, p.keys), value);
    p.store = RDom(0, at_once, 0, passes, 0, d.blocking.parts_per_step(), 0, d.steps_per_chunk(), "store_of_" + name);
    p.store.where(p.store.w < steps(d));
    add_part(d.output, p.sum, first + p.store.y * at_once + p.store.x, p.store.z, p.store.w);
    d.values.push_back(p);
}

// Sum of share * v. Where it isn't finite, it is made again with the masks looked at: 0 * NaN is NaN, and so would be the result.
void declare_output(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const Products &products = d.products;
    const int lanes = d.blocking.lanes;
    auto output = [&](const Func &f, const Expr &v) -> Halide::FuncRef { return f(channel, v, row, chunk, head, batch); };
    const Halide::Var packed_lane("packed_lane");
    d.packed_share(packed_lane, stream, step, row, chunk, head, batch) =
        products.pack([&](int which) { return d.share(packed_lane * products.depth() + which, stream, step, row, chunk, head, batch); });

    // A part's values are in the nearest cache when those follow that are left over, and those channels that fill no vector.
    const int at_once = d.blocking.vectors_at_once;
    const Expr whole = in.value_dim / lanes, passes = whole / at_once;
    output(d.output, vector) = 0.0f;
    declare_values(d, "values", 0, at_once, passes);
    if (has_rest(whole, at_once)) declare_values(d, "left_values", passes * at_once, 1, whole % at_once);
    if (has_rest(in.value_dim, lanes)) declare_values(d, "rest_values", whole, 1, rest_count(in.value_dim, lanes), in.value_dim % lanes);

    d.outputs = RDom(0, d.value_vectors(), "outputs"), d.channels_of_bits = RDom(0, lanes, "channels_of_bits");
    d.lane_bits(channel, row, chunk, head, batch) = 0;
    d.lane_bits(channel, row, chunk, head, batch) =
        max(d.lane_bits(channel, row, chunk, head, batch), magnitude_bits(output(d.output, d.outputs)));
    d.output_bits(row, chunk, head, batch) = 0;
    d.output_bits(row, chunk, head, batch) =
        max(d.output_bits(row, chunk, head, batch), d.lane_bits(d.channels_of_bits, row, chunk, head, batch));

    Expr all_finite = d.output_bits(row, chunk, head, batch) < Operands::infinite_bits;
    // The same sums in the same order, so that what is left out changes no bit of the rest.
    d.careful_keys = keys_of_part(d, "careful_keys");
    d.careful_keys.where(vector * lanes + channel < in.value_dim);
    const Expr of_lane = d.careful_keys.x, of_stream = stream_of(d.careful_keys);
    const Expr packed = careful_values(d, of_lane, of_stream);
    auto guarded = [&](int which) {
        Expr key = of_lane * products.depth() + which;
        Expr kept = branch(in.dropout.used(), in.dropout.keeps(cell_of_row(in, row, panel_begin(d, of_stream, step) + key)), 1.0f);
        return guarded_value(products.unpack(packed, which), d.masked(key, of_stream, step, row, chunk, head, batch), kept);
    };
    auto careful = [&]() -> Halide::FuncRef { return d.careful_sum(channel, vector, part, step, row, chunk, head, batch); };
    careful() = 0.0f;
    careful() = products.add(careful(), share(d, d.careful_keys), products.pack(guarded));
    d.careful_parts = RDom(0, d.blocking.parts_per_step(), 0, d.steps_per_chunk(), "careful_parts");
    d.careful_parts.where(d.careful_parts.y < select(all_finite, 0, steps(d)));
    output(d.careful, vector) = 0.0f;
    add_part(d.careful, d.careful_sum, vector, d.careful_parts.x, d.careful_parts.y);

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
    d.maximum_steps = steps_of(d, "maximum_steps"), d.weights = steps_of(d, "weight_steps"), d.sum_steps = steps_of(d, "sum_steps");
    by_lane(d.lane_maximum, lane) = masked_score();
    by_lane(d.lane_maximum, lane) = max(by_lane(d.lane_maximum, lane), over(d.masked, d.maximum_steps));
    of_row(d.maximum) = masked_score();
    of_row(d.maximum) = max(of_row(d.maximum), by_lane(d.lane_maximum, d.lanes));
    d.weight(lane, stream, step, row, chunk, head, batch) = Halide::undef<float>();
    // The sum is that of the weights as the product takes them, so that rounding them cancels.
    Expr score = over(d.masked, d.weights), scale = base2_scale(in.temperature);
    over(d.weight, d.weights) = d.products.pairs ? cut_to_bfloat16(relative_weight_in_bfloat16(score, of_row(d.maximum), scale))
                                                 : relative_weight(score, of_row(d.maximum), scale);
    by_lane(d.lane_sum, lane) = 0.0f;
    by_lane(d.lane_sum, lane) += over(d.weight, d.sum_steps);
    of_row(d.sum) = 0.0f;
    of_row(d.sum) += by_lane(d.lane_sum, d.lanes);

    d.shares = steps_of(d, "share_steps"), d.dropped = steps_of(d, "dropped_steps", in.dropout.used());
    d.share(lane, stream, step, row, chunk, head, batch) = Halide::undef<float>();
    over(d.share, d.shares) = over(d.weight, d.shares);
    const Cell cell = cell_of_row(in, row, panel_begin(d, d.dropped.x, d.dropped.y) + lane);
    over(d.share, d.dropped) *= in.dropout.keeps(cell);
    declare_output(d);
}

} // namespace attune::dsl
