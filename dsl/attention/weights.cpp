#include "dsl/attention/weights.h"

#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/score.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

void declare_scores(AttentionWeights &w, const AttentionInputs &in) {
    const Cell cell{batch, head, token, key};
    w.dims = RDom(0, in.head_dim, "dims"), w.intervals = RDom(0, in.intervals.count, "intervals");
    w.query(token, dim, head, batch) = in.query_channel(dim, token, head, batch) * in.scale;
    w.dot(token, key, head, batch) = 0.0f;
    w.dot(token, key, head, batch) += w.query(token, w.dims, head, batch) * in.key_channel(w.dims, key, head, batch);
    Expr dot = w.dot(token, key, head, batch);
    w.score(token, key, head, batch) = branch(in.softcap > 0.0f, softcap(dot, Cap(in.softcap)), dot);

    w.allowed(token, key, head, batch) = in.mask ? select(in.mask->allows(cell), 0, -1) : Expr(0);
    // -1 stays: the compiled-in mask has ruled the cell out.
    Expr so_far = w.allowed(token, key, head, batch);
    w.allowed(token, key, head, batch) = select(so_far == 0 && in.intervals.allows(w.intervals, cell), 1, so_far);

    Expr score = w.score(token, key, head, batch);
    score = branch(in.use_relative != 0, score + in.relative(token - key + in.keys - 1, head, batch), score);
    score = branch(in.use_bias != 0, add_bias(score, in.bias(key, token, head, batch)), score);
    w.biased(token, key, head, batch) = in.score ? (*in.score)(score, cell) : score;
}

} // namespace

AttentionWeights attention_weights(const AttentionInputs &in, const Func &lse, const Expr &stage) {
    AttentionWeights w;
    w.query = Func("packed_query"), w.dot = Func("dot"), w.score = Func("score"), w.allowed = Func("allowed"), w.biased = Func("biased");
    w.asked = Func("asked_score"), w.maximum = Func("maximum"), w.part_sum = Func("part_sum"), w.sum = Func("sum");
    w.joined = Func("with_sink"), w.rows = Func("weight_rows"), w.result = Func("weight_columns");
    declare_scores(w, in);

    const Cell cell{batch, head, token, key};
    Expr biased = w.biased(token, key, head, batch);
    Expr allowed = w.allowed(token, key, head, batch) == 1 && in.tensors_allow(cell);
    auto is = [&](WeightsStage s) { return stage == int(s); };
    // A row whose softmax is no number, be it that all its scores are -inf, has no weights that are.
    Expr of_row = lse(token, head, batch), spoilt = is(WeightsStage::weights) && magnitude_bits(of_row) > Operands::infinite_bits;
    w.asked(token, key, head, batch) =
        branch(is(WeightsStage::scaled), w.dot(token, key, head, batch),
               branch(is(WeightsStage::capped), w.score(token, key, head, batch), mask_score(select(spoilt, of_row, biased), allowed)));

    // Not relative to the log-sum-exp: that is of scores whose products were added up in another order, and at a low temperature a
    // difference in their last digit is a large one.
    w.keys = RDom(0, in.keys, "keys");
    w.maximum(token, head, batch) = masked_score();
    w.maximum(token, head, batch) = max(w.maximum(token, head, batch), w.asked(token, w.keys, head, batch));
    auto weight_of = [&](const Expr &score) {
        Expr weight = relative_weight(score, w.maximum(token, head, batch), base2_scale(in.temperature));
        return select(strict_equal(score, masked_score()), 0.0f, weight);
    };
    // Parts, since a running sum of a million weights loses three digits.
    const int per_part = 256;
    const Halide::Var part("part");
    w.keys_of_part = RDom(0, per_part, "keys_of_part"), w.parts = RDom(0, divided_up(in.keys, per_part), "parts");
    Expr key_of_part = part * per_part + w.keys_of_part;
    w.keys_of_part.where(key_of_part < in.keys);
    w.part_sum(token, part, head, batch) = 0.0f;
    w.part_sum(token, part, head, batch) +=
        weight_of(w.asked(token, Halide::unsafe_promise_clamped(key_of_part, 0, in.keys - 1), head, batch));
    w.sum(token, head, batch) = 0.0f;
    w.sum(token, head, batch) += w.part_sum(token, w.parts, head, batch);

    Expr tempered = tempered_score(w.maximum(token, head, batch), in.temperature);
    const SinkJoined with_sink = join_sink(tempered, w.sum(token, head, batch), sink_of(in, head));
    w.joined(token, head, batch) = Halide::Tuple(with_sink.factor, with_sink.sum);

    // A weight of 0 stays 0 whatever the row's sum is: what is masked has no weight even in a row that is NaN.
    Expr asked = w.asked(token, key, head, batch), weight = weight_of(asked);
    Expr kept = branch(in.dropout.used(), in.dropout.keeps(cell) * in.dropout.scale(), 1.0f);
    const auto joined = w.joined(token, head, batch);
    Expr normalised = select(strict_equal(weight, 0.0f) || strict_equal(kept, 0.0f), 0.0f, weight * joined[0] / joined[1] * kept);
    w.rows(token, key, head, batch) = branch(is(WeightsStage::weights), normalised, asked);
    w.result(key, token, head, batch) = w.rows(token, key, head, batch);
    return w;
}

} // namespace attune::dsl
