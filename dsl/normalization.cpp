#include "dsl/normalization.h"

#include <functional>

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/products.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::FuncRef;
using Halide::Tuple;

namespace {

using Element = std::function<Expr(const Expr &at)>;

// Strict, as all that is made of a row once: what LLVM would join, or divide by once for two, depends on the loop around it, and rows are
// to come out alike in all.
Expr added(const Expr &a, const Expr &b) { return strict_add(a, b); }

const Func &halved(const Func &by_lane, const std::vector<Func> &halves) { return halves.empty() ? by_lane : halves.back(); }

template <typename OfLane> void declare_total(const Func &total, const Norm &n, const OfLane &of_lane) {
    join_lanes(total, {row}, n.lanes, 0.0f, of_lane, [](const Expr &a, const Expr &b) { return a + b; });
}

void declare_sum(Norm &n, const Element &x, const NormShape &shape) {
    n.lane_sum(lane, row) = 0.0f;
    for (const RowChunk &chunk : n.chunks)
        n.lane_sum(lane, row) += chunk.counted(x(chunk.at), 0.0f);
    n.sums = halved_lanes(n.lane_sum, "sum", shape.lanes, shape.left, added);
    declare_total(n.sum, n, [&](const Expr &l) { return halved(n.lane_sum, n.sums)(l, row); });
}

void declare_squares(Norm &n, const Element &x, const NormShape &shape) {
    n.lane_squares(lane, row) = 0.0f;
    for (const RowChunk &chunk : n.chunks)
        n.lane_squares(lane, row) += chunk.counted(x(chunk.at) * x(chunk.at), 0.0f);
    n.halved_squares = halved_lanes(n.lane_squares, "squares", shape.lanes, shape.left, added);
    declare_total(n.squares, n, [&](const Expr &l) { return halved(n.lane_squares, n.halved_squares)(l, row); });
}

void declare_deviations(Norm &n, const Element &deviation, const NormShape &shape) {
    n.lane_squares(lane, row) = Tuple(0.0f, 0.0f);
    for (const RowChunk &chunk : n.chunks) {
        const Expr d = chunk.counted(deviation(chunk.at), 0.0f);
        const FuncRef sums = n.lane_squares(lane, row);
        n.lane_squares(lane, row) = Tuple(sums[0] + d * d, added(sums[1], d));
    }
    const auto both_added = [](const FuncRef &a, const FuncRef &b) { return Tuple(added(a[0], b[0]), added(a[1], b[1])); };
    n.halved_squares = halved_lanes(n.lane_squares, "squares", shape.lanes, shape.left, both_added);
    const auto of_lane = [&](const Expr &l) { return halved(n.lane_squares, n.halved_squares)(l, row); };
    declare_total(n.squares, n, [&](const Expr &l) { return of_lane(l)[0]; });
    declare_total(n.deviations, n, [&](const Expr &l) { return of_lane(l)[1]; });
}

} // namespace

Norm norm(NormKind kind, const NormInputs &in, const NormShape &shape) {
    Norm n;
    n.kind = kind, n.lane_squares = Func("lane_squares"), n.squares = Func("squares"), n.statistics = Func("statistics"), n.y = Func("y");
    n.chunks = row_chunks(in.channels, shape.lanes, shape.vector);
    n.lanes = Halide::RDom(0, shape.left, "lanes");
    const Expr count = Halide::cast<float>(in.channels);
    auto x = [&](const Expr &at) { return as_float(in.x(at, row)); };
    const auto factor = [&](const Expr &variance) { return strict_divide(1.0f, sqrt(strict_add(variance, in.epsilon))); };
    const auto mean_of = [&](const Func &sum) { return strict_divide(sum(row), count); };

    if (kind == NormKind::rms) {
        declare_squares(n, x, shape);
        n.statistics(row) = factor(mean_of(n.squares));
        n.y(channel, row) = as_type(in.type, x(channel) * n.statistics(row) * in.weight(channel), shape.rounding);
        return n;
    }
    n.lane_sum = Func("lane_sum"), n.sum = Func("sum"), n.mean = Func("mean");
    declare_sum(n, x, shape);
    n.mean(row) = mean_of(n.sum);
    const Expr mean = n.mean(row);
    const auto deviation = [&](const Expr &at) { return strict_subtract(x(at), mean); };
    if (in.x.type().bits() == 16) { // sums of their few digits are exact, or nearly so
        declare_squares(n, deviation, shape);
        n.statistics(row) = Tuple(mean, factor(mean_of(n.squares)));
    } else {
        n.deviations = Func("deviations");
        declare_deviations(n, deviation, shape);
        // Rounded, the mean may be some ulps off, from which a row of the same numbers has nothing but deviations.
        const Expr off = mean_of(n.deviations), variance = strict_subtract(mean_of(n.squares), strict_multiply(off, off));
        n.statistics(row) = Tuple(strict_add(mean, off), factor(max(variance, 0.0f)));
    }
    const Expr normalised = (x(channel) - n.statistics(row)[0]) * n.statistics(row)[1];
    n.y(channel, row) = as_type(in.type, normalised * in.weight(channel) + in.bias(channel), shape.rounding);
    return n;
}

RowSum row_sum(const Func &a, const Func &b, const Halide::Type &type) {
    RowSum s{Func("y")};
    s.y(channel, row) = as_type(type, as_float(a(channel, row)) + as_float(b(channel, row)));
    return s;
}

} // namespace attune::dsl
