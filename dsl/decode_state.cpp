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
Expr careful_values(const Decode &d, const RDom &r) {
    const AttentionInputs &in = d.inputs;
    if (d.products.pairs) return packed_values(d, r.x, r.y);
    Expr c = Halide::unsafe_promise_clamped(vector * d.blocking.lanes + channel, 0, in.value_dim - 1);
    return channel_of(d, Cached::value, listed_key(d, r.x, r.y, step), c);
}

// Sum of share * v. Where it isn't finite, it is made again with the masks looked at: 0 * NaN is NaN, and so would be the result.
void declare_output(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const Products &products = d.products;
    const int lanes = d.blocking.lanes, panel_keys = d.blocking.keys_per_panel / products.depth(), streams = d.blocking.streams;
    auto output = [&](const Func &f, const Expr &v) -> Halide::FuncRef { return f(channel, v, row, chunk, head, batch); };
    auto of_step = [&](const Expr &v, const Expr &at) -> Halide::FuncRef { return d.step_output(channel, v, at, row, chunk, head, batch); };
    auto share = [&](const RDom &r) { return d.packed_share(r.x, r.y, step, row, chunk, head, batch); };
    auto value = [&](const RDom &r, const Expr &v) {
        return d.value(channel, v, r.x, r.y, step, row / d.blocking.rows_per_turn, chunk, head, batch);
    };
    const Halide::Var packed_lane("packed_lane");
    d.packed_share(packed_lane, stream, step, row, chunk, head, batch) =
        products.pack([&](int which) { return d.share(packed_lane * products.depth() + which, stream, step, row, chunk, head, batch); });
    const Ahead ahead = {in.value_dim, d.rows_per_head() == 1, false, turn};
    d.value(channel, vector, lane, stream, step, turn, chunk, head, batch) = packed_values(d, lane, stream, ahead);

    // A step's values are in the nearest cache when those channels of theirs follow that fill no vector.
    d.values = RDom(0, panel_keys, 0, streams, 0, in.value_dim / lanes, "values");
    of_step(vector, step) = 0.0f;
    of_step(d.values.z, step) = products.add(of_step(d.values.z, step), share(d.values), value(d.values, d.values.z));
    if (has_rest(in.value_dim, lanes)) {
        d.rest_values = RDom(0, panel_keys, 0, streams, 0, rest_count(in.value_dim, lanes), "rest_values");
        const RDom &r = d.rest_values;
        d.rest_values.where(channel < in.value_dim % lanes);
        Expr rest = in.value_dim / lanes + r.z;
        of_step(rest, step) += share(r) * channel_of(d, Cached::value, listed_key(d, r.x, r.y, step), rest * lanes + channel);
    }
    d.output_steps = RDom(0, d.steps_per_chunk(), "output_steps");
    d.output_steps.where(d.output_steps < steps(d));
    output(d.output, vector) = 0.0f;
    output(d.output, vector) += of_step(vector, d.output_steps);

    d.outputs = RDom(0, d.value_vectors(), "outputs"), d.channels_of_bits = RDom(0, lanes, "channels_of_bits");
    d.lane_bits(channel, row, chunk, head, batch) = 0;
    d.lane_bits(channel, row, chunk, head, batch) =
        max(d.lane_bits(channel, row, chunk, head, batch), magnitude_bits(output(d.output, d.outputs)));
    d.output_bits(row, chunk, head, batch) = 0;
    d.output_bits(row, chunk, head, batch) =
        max(d.output_bits(row, chunk, head, batch), d.lane_bits(d.channels_of_bits, row, chunk, head, batch));

    Expr all_finite = d.output_bits(row, chunk, head, batch) < Operands::infinite_bits;
    // The same sums in the same order, so that what is left out changes no bit of the rest.
    d.careful_values = RDom(0, panel_keys, 0, streams, "careful_values");
    d.careful_values.where(vector * lanes + channel < in.value_dim);
    const RDom &r = d.careful_values;
    const Expr packed = careful_values(d, r);
    auto guarded = [&](int which) {
        Expr key = r.x * products.depth() + which;
        Expr kept = branch(in.dropout.used(), in.dropout.keeps(cell_of_row(in, row, panel_begin(d, r.y, step) + key)), 1.0f);
        return guarded_value(products.unpack(packed, which), d.masked(key, r.y, step, row, chunk, head, batch), kept);
    };
    auto careful = [&]() -> Halide::FuncRef { return d.careful_step(channel, vector, step, row, chunk, head, batch); };
    careful() = 0.0f;
    careful() = products.add(careful(), share(r), products.pack(guarded));
    d.careful_steps = RDom(0, d.steps_per_chunk(), "careful_steps");
    d.careful_steps.where(d.careful_steps < select(all_finite, 0, steps(d)));
    output(d.careful, vector) = 0.0f;
    output(d.careful, vector) += d.careful_step(channel, vector, d.careful_steps, row, chunk, head, batch);

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
