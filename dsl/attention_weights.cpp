#include "dsl/attention_weights.h"

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
    w.score(token, key, head, batch) = branch(in.softcap > 0.0f, softcap(dot, select(in.softcap > 0.0f, in.softcap, 1.0f)), dot);

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
    w.weight = Func("weight"), w.sum = Func("sum"), w.rows = Func("weight_rows"), w.result = Func("weight_columns");
    declare_scores(w, in);

    const Cell cell{batch, head, token, key};
    Expr biased = w.biased(token, key, head, batch);
    Expr allowed = w.allowed(token, key, head, batch) == 1 && in.tensors_allow(cell);
    // Relative to the row's log-sum-exp a score is at most 0, so that nothing overflows. A large log-sum-exp has lost digits,
    // which all weights of the row share: their sum takes them out.
    const float log2_e = 1.44269504088896f;
    auto weight_of = [&](const Expr &logit) { return exp2_scaled(logit - lse(token, head, batch), log2_e); };
    Expr exponential = select(allowed, weight_of(tempered_score(biased, in.temperature)), 0.0f);
    auto is = [&](WeightsStage s) { return stage == int(s); };
    w.weight(token, key, head, batch) =
        branch(is(WeightsStage::weights), exponential,
               branch(is(WeightsStage::scaled), w.dot(token, key, head, batch),
                      branch(is(WeightsStage::capped), w.score(token, key, head, batch), mask_score(biased, allowed))));
    Expr sink = in.sinks(head);
    Expr sink_weight = select(strict_equal(sink, masked_score()), 0.0f, weight_of(sink));
    w.keys = RDom(0, in.keys, "keys");
    w.sum(token, head, batch) = branch(in.use_sinks != 0, sink_weight, 0.0f);
    w.sum(token, head, batch) += w.weight(token, w.keys, head, batch);

    // A weight of 0 stays 0 whatever the row's sum is: what is masked has no weight even in a row that is NaN.
    Expr weight = w.weight(token, key, head, batch);
    Expr kept = branch(in.dropout.used(), in.dropout.keeps(cell) * in.dropout.scale(), 1.0f);
    Expr normalised = select(strict_equal(weight, 0.0f) || strict_equal(kept, 0.0f), 0.0f, weight / w.sum(token, head, batch) * kept);
    w.rows(token, key, head, batch) = branch(is(WeightsStage::weights), normalised, weight);
    w.result(key, token, head, batch) = w.rows(token, key, head, batch);
    return w;
}

} // namespace attune::dsl
