// From masked scores to a chunk's softmax state.
#include "dsl/decode_parts.h"

#include "dsl/attention_parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

// Sum of share * v. Where it isn't finite, it is made again with the masks looked at: 0 * NaN is NaN, and so would be the result.
void declare_output(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const int lanes = d.blocking.lanes, panel_keys = d.blocking.keys_per_panel, streams = d.blocking.streams;
    auto value_channel = [&](const Expr &c, const Expr &of_lane, const Expr &of_stream, const Expr &at_step) {
        return as_float(in.value(c, read_key(d, of_lane, of_stream, at_step), head, batch));
    };
    Expr c = vector * lanes + channel;
    d.value(channel, vector, lane, stream, step, chunk, head, batch) =
        prefetched(d, value_channel(c, lane, stream, step), in.value_ahead, in.value_dim);
    auto output = [&](const Func &f, const Expr &v) -> Halide::FuncRef { return f(channel, v, row, chunk, head, batch); };
    auto of_step = [&](const Expr &v, const Expr &at) -> Halide::FuncRef { return d.step_output(channel, v, at, row, chunk, head, batch); };

    // A step's values are in the nearest cache when those channels of theirs follow that fill no vector.
    auto share = [&](const RDom &r) { return d.share(r.x, r.y, step, row, chunk, head, batch); };
    d.values = RDom(0, panel_keys, 0, streams, 0, in.value_dim / lanes, "values");
    of_step(vector, step) = 0.0f;
    of_step(d.values.z, step) += share(d.values) * d.value(channel, d.values.z, d.values.x, d.values.y, step, chunk, head, batch);
    if (has_rest(in.value_dim, lanes)) {
        d.rest_values = RDom(0, panel_keys, 0, streams, 0, rest_count(in.value_dim, lanes), "rest_values");
        const RDom &r = d.rest_values;
        d.rest_values.where(channel < in.value_dim % lanes);
        Expr rest = in.value_dim / lanes + r.z;
        of_step(rest, step) += share(r) * value_channel(rest * lanes + channel, r.x, r.y, step);
    }
    d.output_steps = RDom(0, d.blocking.steps_per_chunk(), "output_steps");
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
    Expr kept = branch(in.dropout.used(), in.dropout.keeps(cell_of_row(in, row, panel_begin(d, r.y, step) + r.x)), 1.0f);
    Expr c_value = value_channel(Halide::unsafe_promise_clamped(vector * lanes + channel, 0, in.value_dim - 1), r.x, r.y, step);
    d.careful_step(channel, vector, step, row, chunk, head, batch) = 0.0f;
    d.careful_step(channel, vector, step, row, chunk, head, batch) +=
        share(r) * guarded_value(c_value, d.masked(r.x, r.y, step, row, chunk, head, batch), kept);
    d.careful_steps = RDom(0, d.blocking.steps_per_chunk(), "careful_steps");
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
    over(d.weight, d.weights) = relative_weight(over(d.masked, d.weights), of_row(d.maximum), base2_scale(in.temperature));
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
