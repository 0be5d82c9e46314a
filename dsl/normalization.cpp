#include "dsl/normalization.h"

#include "dsl/axes.h"
#include "dsl/products.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;

Norm norm(NormKind kind, const NormInputs &in, const NormShape &shape) {
    Norm n = {kind, Func("lane_sum"), Func("sum"), Func("lane_squares"), Func("squares"), Func("y"), {}, {}};
    n.chunks = row_chunks(in.channels, shape.lanes, shape.vector);
    n.lanes = Halide::RDom(0, shape.lanes, "lanes");
    const bool centred = kind == NormKind::layer;
    const Expr count = Halide::cast<float>(in.channels);
    auto x = [&](const Expr &at) { return as_float(in.x(at, row)); };

    n.lane_sum(lane, row) = 0.0f;
    for (const RowChunk &chunk : n.chunks)
        n.lane_sum(lane, row) += chunk.counted(x(chunk.at), 0.0f);
    n.sum(row) = 0.0f;
    n.sum(row) += n.lane_sum(n.lanes, row);
    const Expr mean = centred ? n.sum(row) / count : Expr(0.0f);
    n.lane_squares(lane, row) = 0.0f;
    for (const RowChunk &chunk : n.chunks) {
        const Expr deviation = x(chunk.at) - mean;
        n.lane_squares(lane, row) += chunk.counted(deviation * deviation, 0.0f);
    }
    n.squares(row) = 0.0f;
    n.squares(row) += n.lane_squares(n.lanes, row);

    const Expr factor = 1.0f / sqrt(n.squares(row) / count + in.epsilon);
    const Expr scaled = (x(channel) - mean) * factor * in.weight(channel);
    n.y(channel, row) = as_type(in.type, centred ? scaled + in.bias(channel) : scaled, shape.rounding);
    return n;
}

RowSum row_sum(const Func &a, const Func &b, const Halide::Type &type) {
    RowSum s{Func("y")};
    s.y(channel, row) = as_type(type, as_float(a(channel, row)) + as_float(b(channel, row)));
    return s;
}

} // namespace attune::dsl
