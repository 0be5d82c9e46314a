#include "schedules/lowered/stride.h"

#include <functional>

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Expr;

Expr stride_of(const Expr &index, const std::string &variable) {
    auto of = [&](const Expr &part) { return stride_of(part, variable); };
    if (!expr_uses_var(index, variable)) return make_zero(index.type());
    if (index.as<Variable>()) return make_one(index.type());
    if (const Cast *whole = index.as<Cast>()) {
        const Expr stride = of(whole->value);
        return stride.defined() ? cast(whole->type, stride) : Expr();
    }
    auto both = [&](const Expr &x, const Expr &y, const std::function<Expr(Expr, Expr)> &joined) {
        const Expr of_x = of(x), of_y = of(y);
        return of_x.defined() && of_y.defined() ? joined(of_x, of_y) : Expr();
    };
    if (const Add *sum = index.as<Add>()) return both(sum->a, sum->b, [](const Expr &x, const Expr &y) { return x + y; });
    if (const Sub *difference = index.as<Sub>())
        return both(difference->a, difference->b, [](const Expr &x, const Expr &y) { return x - y; });
    const Mul *product = index.as<Mul>();
    if (!product || (expr_uses_var(product->a, variable) && expr_uses_var(product->b, variable))) return Expr();
    return both(product->a, product->b, [&](const Expr &of_a, const Expr &of_b) { return of_a * product->b + of_b * product->a; });
}

} // namespace attune::schedules
