// What becomes of a softmax state at its end, in whatever way it came about.
#include "dsl/attention_parts.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using Halide::Expr;

SinkJoined join_sink(const Expr &tempered, const Expr &sum, const Expr &sink) {
    Expr none = strict_equal(sink, masked_score()), joint = max(tempered, sink), log2_e = base2_scale(1.0f);
    Expr factor = select(none, 1.0f, relative_weight(tempered, joint, log2_e));
    return {joint, factor, select(none, sum, sum * factor + relative_weight(sink, joint, log2_e))};
}

Expr sink_of(const AttentionInputs &in, const Expr &query_head) { return branch(in.use_sinks != 0, in.sinks(query_head), masked_score()); }

// Where there is no sum at all, nothing could be attended to, or scores were all -inf, from an Inf in q or k: that is 0 / 0.
Expr closing(const AttentionInputs &in, const Expr &which, const Expr &maximum, const Expr &sum, const Expr &query_head,
             const Expr &attends) {
    Expr none = strict_equal(sum, 0.0f);
    Expr tempered = select(none, masked_score(), tempered_score(maximum, in.temperature));
    const auto [joint, factor, denominator] = join_sink(tempered, sum, sink_of(in, query_head));
    Expr starved = strict_equal(denominator, 0.0f);
    auto closed = [&](const Expr &without, const Expr &value) {
        return select(starved && attends != 0, nan_value(), starved, without, value);
    };
    return branch(which == int(Fold::factor), closed(0.0f, factor * in.dropout.scale() / denominator),
                  closed(masked_score(), joint + natural_log(denominator)));
}

Expr guarded_value(const Expr &value, const Expr &score, const Expr &kept) {
    return select(strict_equal(score, masked_score()) || strict_equal(kept, 0.0f), 0.0f, value);
}

} // namespace attune::dsl
