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
    auto absent = [](const Expr &lse) { return strict_equal(lse, masked_score()); };
    auto weight = [&](const Expr &lse) { return select(absent(lse), Merge::absent, share(lse) / sum); };
    // A sum with the zero of what is absent would lose the sign of another zero.
    const Expr lse = select(absent(a_maximum), b_maximum, absent(b_maximum), a_maximum, log_sum_exp(maximum, sum, 1.0f));
    m.factors(token, lane, head, batch) =
        select(lane == Merge::a_weight, weight(a_maximum), lane == Merge::b_weight, weight(b_maximum), lse);

    auto factor = [&](int which) { return m.factors(token, which, head, batch); };
    auto is_absent = [&](int which) { return strict_equal(factor(which), Merge::absent); };
    const Expr of_a = factor(Merge::a_weight) * a(dim, token, head, batch), of_b = factor(Merge::b_weight) * b(dim, token, head, batch);
    m.output(dim, token, head, batch) = select(is_absent(Merge::a_weight), select(is_absent(Merge::b_weight), 0.0f, of_b),
                                               is_absent(Merge::b_weight), of_a, strict_add(of_a, of_b));
    m.lse(token, head, batch) = factor(Merge::log_sum_exp);
    return m;
}

} // namespace attune::dsl
