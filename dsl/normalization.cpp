#include "dsl/normalization.h"

#include <functional>

#include "dsl/axes.h"
#include "dsl/products.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::FuncRef;
using Halide::Tuple;

namespace {

using Element = std::function<Expr(const Expr &at)>;

void declare_squares(Norm &n, const Element &x) {
    n.lane_squares(lane, row) = 0.0f;
    for (const RowChunk &chunk : n.chunks)
        n.lane_squares(lane, row) += chunk.counted(x(chunk.at) * x(chunk.at), 0.0f);
    n.squares(row) = 0.0f;
    n.squares(row) += n.lane_squares(n.lanes, row);
}

void declare_deviations(Norm &n, const Element &deviation) {
    n.lane_squares(lane, row) = Tuple(0.0f, 0.0f);
    for (const RowChunk &chunk : n.chunks) {
        const Expr d = chunk.counted(deviation(chunk.at), 0.0f);
        const FuncRef sums = n.lane_squares(lane, row);
        n.lane_squares(lane, row) = Tuple(sums[0] + d * d, sums[1] + d);
    }
    n.squares(row) = 0.0f, n.deviations(row) = 0.0f;
    n.squares(row) += n.lane_squares(n.lanes, row)[0];
    n.deviations(row) += n.lane_squares(n.lanes, row)[1];
}

} // namespace

Norm norm(NormKind kind, const NormInputs &in, const NormShape &shape) {
    Norm n = {
        kind, Func("lane_sum"), Func("sum"), Func("lane_squares"), Func("squares"), Func("deviations"), Func("statistics"), Func("y"), {},
        {}};
    n.chunks = row_chunks(in.channels, shape.lanes, shape.vector);
    n.lanes = Halide::RDom(0, shape.lanes, "lanes");
    const bool centred = kind == NormKind::layer;
    const Expr count = Halide::cast<float>(in.channels);
    auto x = [&](const Expr &at) { return as_float(in.x(at, row)); };

    if (!centred) {
        declare_squares(n, x);
        const Expr factor = 1.0f / sqrt(n.squares(row) / count + in.epsilon);
        n.y(channel, row) = as_type(in.type, x(channel) * factor * in.weight(channel), shape.rounding);
        return n;
    }
    n.lane_sum(lane, row) = 0.0f;
    for (const RowChunk &chunk : n.chunks)
        n.lane_sum(lane, row) += chunk.counted(x(chunk.at), 0.0f);
    n.sum(row) = 0.0f;
    n.sum(row) += n.lane_sum(n.lanes, row);
    const Expr mean = n.sum(row) / count;
    const auto deviation = [&](const Expr &at) { return x(at) - mean; };
    const auto result = [&](const Expr &mean, const Expr &factor) {
        return as_type(in.type, (x(channel) - mean) * factor * in.weight(channel) + in.bias(channel), shape.rounding);
    };
    if (in.x.type().bits() == 16) { // sums of their few digits are exact, or nearly so
        declare_squares(n, deviation);
        n.y(channel, row) = result(mean, 1.0f / sqrt(n.squares(row) / count + in.epsilon));
        return n;
    }
    declare_deviations(n, deviation);

    // Rounded, the mean may be some ulps off, from which a row of the same numbers has nothing but deviations.
    const Expr off = n.deviations(row) / count, variance = max(n.squares(row) / count - off * off, 0.0f);
    n.statistics(row) = Tuple(mean + off, 1.0f / sqrt(variance + in.epsilon));
    n.y(channel, row) = result(n.statistics(row)[0], n.statistics(row)[1]);
    return n;
}

RowSum row_sum(const Func &a, const Func &b, const Halide::Type &type) {
    RowSum s{Func("y")};
    s.y(channel, row) = as_type(type, as_float(a(channel, row)) + as_float(b(channel, row)));
    return s;
}

} // namespace attune::dsl
