#include "dsl/normalization.h"

#include "dsl/axes.h"
#include "dsl/products.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;

Norm norm(NormKind kind, const NormInputs &in, const NormShape &shape) {
    const int lanes = shape.lanes;
    Norm n = {kind, Func("lane_sum"), Func("sum"), Func("lane_squares"), Func("squares"), Func("y"), {}, {}};
    n.chunks = Halide::RDom(0, (in.channels + lanes - 1) / lanes, "chunks");
    n.lanes = Halide::RDom(0, lanes, "lanes");
    const bool centred = kind == NormKind::layer;
    const Expr count = Halide::cast<float>(in.channels), at = n.chunks * lanes + lane;
    const Expr inside = likely(at < in.channels), x = as_float(in.x(min(likely(at), in.channels - 1), row));

    n.lane_sum(lane, row) = 0.0f;
    n.lane_sum(lane, row) += select(inside, x, 0.0f);
    n.sum(row) = 0.0f;
    n.sum(row) += n.lane_sum(n.lanes, row);
    const Expr mean = centred ? n.sum(row) / count : Expr(0.0f), deviation = x - mean;
    n.lane_squares(lane, row) = 0.0f;
    n.lane_squares(lane, row) += select(inside, deviation * deviation, 0.0f);
    n.squares(row) = 0.0f;
    n.squares(row) += n.lane_squares(n.lanes, row);

    const Expr factor = 1.0f / sqrt(n.squares(row) / count + in.epsilon);
    const Expr scaled = (as_float(in.x(channel, row)) - mean) * factor * in.weight(channel);
    n.y(channel, row) = as_type(in.type, centred ? scaled + in.bias(channel) : scaled, shape.to_bfloat16);
    return n;
}

RowSum row_sum(const Func &a, const Func &b, const Halide::Type &type) {
    RowSum s{Func("y")};
    s.y(channel, row) = as_type(type, as_float(a(channel, row)) + as_float(b(channel, row)));
    return s;
}

} // namespace attune::dsl
