#include "dsl/row_share.h"

#include <algorithm>

#include "dsl/warp.h"

namespace attune::dsl {

using Halide::Expr;
using Halide::Func;
using Halide::Var;

namespace {

constexpr int warp_lanes = 32;

// Of `lanes` lanes that follow one another, in each of them.
Expr joined_lanes(Expr value, int lanes, const Join &join) {
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        value = join(value, warp::shuffle_xor(value, mask));
    return value;
}

} // namespace

Expr larger(const Expr &a, const Expr &b) { return warp::larger(a, b); }

Expr added(const Expr &a, const Expr &b) { return a + b; }

Expr joined_elements(const RowShare &share, const Join &value_of, const Join &join) {
    std::vector<Expr> values;
    for (int vector = 0; vector < share.vectors; vector++)
        for (int element = 0; element < share.vector; element++)
            values.push_back(value_of(element, vector));
    for (; values.size() > 1; values.resize((values.size() + 1) / 2))
        for (size_t i = 0; i < values.size() / 2; i++)
            values[i] = join(values[2 * i], values[2 * i + 1]);
    return values[0];
}

void join_threads(Func total, Func of_warp, const Func &own, const RowShare &share, const Join &join) {
    const Var thread("thread"), row("row");
    of_warp(thread, row) = joined_lanes(own(thread, row), std::min(share.threads, warp_lanes), join);
    // All lanes of a warp have its value, so that lane l reads lane l's.
    const Expr other = thread % share.warps() * warp_lanes + thread % warp_lanes;
    total(thread, row) = share.warps() == 1 ? of_warp(thread, row) : joined_lanes(of_warp(other, row), share.warps(), join);
}

} // namespace attune::dsl
