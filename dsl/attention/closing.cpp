// What becomes of a softmax state at its end, in whatever way it came about.
#include "dsl/attention/parts.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using Halide::Expr;

SinkJoined join_sink(const Expr &tempered, const Expr &sum, const Expr &sink) {
    Expr none = strict_equal(sink, masked_score()), joint = max(tempered, sink), log2_e = base2_scale(1.0f);
    // Of the largest it is 1, also where that is inf: a score over a low temperature may be.
    auto weight = [&](const Expr &score) { return select(strict_equal(score, joint), 1.0f, relative_weight(score, joint, log2_e)); };
    Expr factor = select(none, 1.0f, weight(tempered));
    return {joint, factor, select(none, sum, sum * factor + weight(sink))};
}

Expr sink_of(const AttentionInputs &in, const Expr &query_head) { return branch(in.use_sinks != 0, in.sinks(query_head), masked_score()); }

// Where there is no sum at all, nothing could be attended to, or scores were all -inf, from an Inf in q or k: that is 0 / 0.
Expr closing(const AttentionInputs &in, const Expr &which, const Expr &maximum, const Expr &sum, const Expr &query_head,
             const Expr &attends) {
    Expr none = strict_equal(sum, 0.0f);
    Expr tempered = select(none, masked_score(), tempered_score(maximum, in.temperature));
    const Expr sink = sink_of(in, query_head);
    const SinkJoined joined = join_sink(tempered, sum, sink);
    // A sink takes all of a row without keys, whatever number it is.
    auto closed = [&](const Expr &without, const Expr &value) {
        return select(none && attends == 0, without, strict_equal(joined.sum, 0.0f), nan_value(), value);
    };
    return branch(which == int(Fold::factor), closed(0.0f, joined.factor * in.dropout.scale() / joined.sum),
                  closed(sink, joined.joint + natural_log(joined.sum)));
}

Expr guarded_value(const Expr &value, const Expr &score, const Expr &kept) {
    return select(strict_equal(score, masked_score()) || strict_equal(kept, 0.0f), 0.0f, value);
}

} // namespace attune::dsl
