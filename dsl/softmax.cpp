#include "dsl/softmax.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using Halide::Expr;
using Halide::Func;

Expr reference_score(const Expr &maximum) { return select(strict_equal(maximum, masked_score()), 0.0f, maximum); }

Expr relative_weight(const Expr &score, const Expr &maximum, const Expr &scale) {
    return exp2_scaled(score - reference_score(maximum), scale);
}

Expr base2_scale(const Expr &temperature) { return 1.44269504088896f / temperature; }

Expr log_sum_exp(const Expr &maximum, const Expr &sum, const Expr &temperature) {
    return select(strict_equal(sum, 0.0f), masked_score(), tempered_score(maximum, temperature) + natural_log(sum));
}

Softmax softmax(const Func &x, const Expr &extent, const Expr &temperature, const SoftmaxOptions &options) {
    Halide::Var i("i"), row("row");
    const Halide::Var &lane = axes::lane;
    const int lanes = options.lanes;
    Softmax s{Func("lane_maximum"),
              Func("maximum"),
              Func("weight"),
              Func("lane_sum"),
              Func("sum"),
              Func("softmax"),
              Halide::RDom(0, (extent + lanes - 1) / lanes, "chunks"),
              Halide::RDom(0, lanes, "lanes")};

    // Past the end of the row the elements repeat the last one, which a maximum doesn't mind; a sum leaves them out.
    Expr at = s.chunks * lanes + lane, clamped = min(at, extent - 1);
    s.lane_maximum(lane, row) = masked_score();
    s.lane_maximum(lane, row) = max(s.lane_maximum(lane, row), x(clamped, row));
    s.maximum(row) = masked_score();
    s.maximum(row) = max(s.maximum(row), s.lane_maximum(s.lanes, row));

    s.weight(i, row) = relative_weight(x(i, row), s.maximum(row), base2_scale(temperature));
    s.lane_sum(lane, row) = 0.0f;
    s.lane_sum(lane, row) += select(at < extent, s.weight(clamped, row), 0.0f);
    s.sum(row) = 0.0f;
    s.sum(row) += s.lane_sum(s.lanes, row);

    Expr sum = s.sum(row), none = strict_equal(sum, 0.0f);
    if (options.log) {
        Expr shifted = (x(i, row) - reference_score(s.maximum(row))) / temperature;
        s.result(i, row) = select(none, masked_score(), shifted - natural_log(sum));
    } else {
        s.result(i, row) = select(none, 0.0f, s.weight(i, row) / sum);
    }
    return s;
}

} // namespace attune::dsl
