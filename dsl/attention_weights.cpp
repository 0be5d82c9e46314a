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

AttentionWeights attention_weights(const AttentionInputs &in, const Func &lse) {
    AttentionWeights w{Func("packed_query"),
                       Func("dot"),
                       Func("score"),
                       Func("allowed"),
                       Func("weight"),
                       Func("sum"),
                       Func("weight_rows"),
                       Func("weight_columns"),
                       RDom(0, in.head_dim, "dims"),
                       RDom(0, in.intervals.count, "intervals"),
                       RDom(0, in.keys, "keys")};
    const Cell cell{batch, head, token, key};

    w.query(token, dim, head, batch) = cast<float>(in.query(dim, token, head, batch)) * in.scale;
    w.dot(token, key, head, batch) = 0.0f;
    w.dot(token, key, head, batch) +=
        w.query(token, w.dims, head, batch) * cast<float>(in.key(w.dims, key, head / in.heads_per_group, batch));

    w.allowed(token, key, head, batch) = in.mask ? select(in.mask->allows(cell), 0, -1) : Expr(0);
    Expr inside = key >= in.intervals.begin(w.intervals, token, batch) && key < in.intervals.end(w.intervals, token, batch);
    // -1 stays: the compiled-in mask has ruled the cell out.
    Expr so_far = w.allowed(token, key, head, batch);
    w.allowed(token, key, head, batch) = select(so_far == 0 && inside, 1, so_far);

    Expr score = w.dot(token, key, head, batch);
    w.score(token, key, head, batch) = branch(in.softcap > 0.0f, softcap(score, select(in.softcap > 0.0f, in.softcap, 1.0f)), score);
    Expr biased = branch(in.use_bias != 0, add_bias(w.score(token, key, head, batch), in.bias, cell), w.score(token, key, head, batch));
    Expr allowed = w.allowed(token, key, head, batch) == 1 && in.tensors_allow(cell);
    // Relative to the row's log-sum-exp a score is at most 0, so that nothing overflows. A large log-sum-exp has lost digits,
    // which all weights of the row share: their sum takes them out.
    Expr relative = tempered_score(biased, in.temperature) - lse(token, head, batch);
    w.weight(token, key, head, batch) = select(allowed, exp2_scaled(relative, 1.44269504088896f), 0.0f);
    w.sum(token, head, batch) = 0.0f;
    w.sum(token, head, batch) += w.weight(token, w.keys, head, batch);
    // A weight of 0 stays 0 whatever the row's sum is: what is masked has no weight even in a row that is NaN.
    Expr weight = w.weight(token, key, head, batch);
    w.rows(token, key, head, batch) = select(strict_equal(weight, 0.0f), 0.0f, weight / w.sum(token, head, batch));
    w.result(key, token, head, batch) = w.rows(token, key, head, batch);
    return w;
}

} // namespace attune::dsl
