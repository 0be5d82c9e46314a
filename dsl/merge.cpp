#include "dsl/merge.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;

Merge merge(const Func &a, const Func &a_lse, const Func &b, const Func &b_lse) {
    Merge m{Func("factors"), Func("merged"), Func("merged_lse")};

    // A finished result is the state with its log-sum-exp as maximum, and the sum 1.
    Expr a_maximum = a_lse(token, head, batch), b_maximum = b_lse(token, head, batch), maximum = max(a_maximum, b_maximum);
    auto share = [&](const Expr &lse) { return relative_weight(lse, maximum, base2_scale(1.0f)); };
    // Fused with the product that one of them ends with, the sum would depend on their order.
    Expr sum = strict_add(share(a_maximum), share(b_maximum));
    auto weight = [&](const Expr &lse) { return select(strict_equal(lse, masked_score()), Merge::absent, share(lse) / sum); };
    m.factors(token, lane, head, batch) =
        select(lane == Merge::a_weight, weight(a_maximum), lane == Merge::b_weight, weight(b_maximum), log_sum_exp(maximum, sum, 1.0f));

    auto factor = [&](int which) { return m.factors(token, which, head, batch); };
    auto term = [&](const Expr &weight, const Func &value) {
        return select(strict_equal(weight, Merge::absent), 0.0f, weight * value(dim, token, head, batch));
    };
    m.output(dim, token, head, batch) = term(factor(Merge::a_weight), a) + term(factor(Merge::b_weight), b);
    m.lse(token, head, batch) = factor(Merge::log_sum_exp);
    return m;
}

} // namespace attune::dsl
