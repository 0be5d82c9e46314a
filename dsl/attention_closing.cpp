// What becomes of a softmax state at its end, in whatever way it came about.
#include "dsl/attention_parts.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using Halide::Expr;

// A sink is one more logit z, next to the scores over T: with m the larger of both maxima, the sum becomes l e^(max / T - m) + e^(z - m).
Expr closing(const AttentionInputs &in, const Expr &which, const Expr &maximum, const Expr &sum, const Expr &query_head) {
    Expr none = strict_equal(sum, 0.0f);
    Expr tempered = select(none, masked_score(), tempered_score(maximum, in.temperature));
    Expr sink = branch(in.use_sinks != 0, in.sinks(query_head), masked_score());
    Expr joint = max(tempered, sink), log2_e = base2_scale(1.0f);
    Expr factor = select(strict_equal(sink, masked_score()), 1.0f, relative_weight(tempered, joint, log2_e));
    Expr denominator = select(strict_equal(sink, masked_score()), sum, sum * factor + relative_weight(sink, joint, log2_e));
    Expr lse = select(strict_equal(denominator, 0.0f), masked_score(), joint + natural_log(denominator));
    return branch(which == int(Fold::factor), factor * in.dropout.scale(), branch(which == int(Fold::denominator), denominator, lse));
}

Expr finished_channel(const Expr &channel, const Expr &factor, const Expr &denominator, const Expr &attends) {
    Expr starved = strict_equal(denominator, 0.0f);
    return select(starved && attends != 0, nan_value(), starved, 0.0f, channel * factor / denominator);
}

Expr finished_log_sum_exp(const Expr &log_sum_exp, const Expr &denominator, const Expr &attends) {
    return select(strict_equal(denominator, 0.0f) && attends != 0, nan_value(), log_sum_exp);
}

Expr guarded_value(const Expr &value, const Expr &score, const Expr &kept) {
    return select(strict_equal(score, masked_score()) || strict_equal(kept, 0.0f), 0.0f, value);
}

} // namespace attune::dsl
