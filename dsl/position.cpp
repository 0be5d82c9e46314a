#include "dsl/position.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/products.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

namespace {

const Var plane{"plane"};

// In f64, and in turns: f32 would be off by 0.06 radians at position 1,000,000.
Expr turns_at(const Expr &turns_per_token, const Expr &position) { return cast<double>(position) * turns_per_token; }

// Channel `plane` (0 or 1) of a pair.
Expr channel_of(RotaryLayout layout, const Expr &pairs, const Expr &pair_index, const Expr &second) {
    return layout == RotaryLayout::half ? pair_index + second * pairs : 2 * pair_index + second;
}

} // namespace

TokenPositions token_positions(const Expr &first) {
    TokenPositions p{Func("token_positions")};
    p.result(axes::token) = first + axes::token;
    return p;
}

Sinusoidal sinusoidal(const Expr &width, const Expr &base, const Func &positions, const Halide::Type &type) {
    Sinusoidal s{plain_turns_per_token(width, base), Func("sinusoidal")};
    Expr turns = turns_at(s.turns_per_token(dim / 2), positions(token, batch));
    // A cosine is a sine a quarter turn on: one polynomial serves both.
    s.table(dim, plane, token, batch) = as_type(type, sin_turns(turns + select(dim % 2 == 0, Expr(0.0), Expr(0.25))));
    return s;
}

RotaryTable rotary_table(const FrequencyInputs &in, const RotaryPositions &positions) {
    RotaryTable t{frequencies(in), positions.streams, Func("stream"), RDom(0, positions.streams - 1, "stream_ends"), Func("rotary_table")};
    t.stream(pair) = 0;
    t.stream(pair) += select(pair >= positions.ends(t.stream_ends), 1, 0);
    Expr stream = clamp(t.stream(pair), 0, positions.streams - 1);
    Expr turns = turns_at(t.frequencies.turns_per_token(pair), positions.numbers(token, stream, batch));
    t.table(pair, plane, token, batch) = t.frequencies.magnitude() * select(plane == 0, cos_turns(turns), sin_turns(turns));
    return t;
}

Rotary rotary(const Func &x, const Expr &channels, const Expr &tokens, RotaryLayout layout, const Func &table, const Expr &pairs,
              const RotaryShape &shape) {
    const int lanes = shape.lanes;
    Rotary r{Func("turned"),
             Func("rotary"),
             RDom(0, 2, 0, lanes, 0, (pairs + lanes - 1) / lanes, "pairs"),
             RDom(2 * pairs, channels - 2 * pairs, "passed"),
             tokens,
             lanes == 1 ? Halide::Internal::const_true() : Halide::Internal::simplify(pairs >= lanes),
             Halide::Internal::const_false()};
    // A vector that would end past the last pair begins before, and is read as it lies. Where pairs don't fill one, the last of them is
    // repeated, by its lanes. (Bounds inference looks at both sides of a select, also where its condition is a constant.)
    auto pair_at = [&](const Expr &v, const Expr &l) { return lanes == 1 ? v : max(min(likely(v * lanes), pairs - lanes), 0) + l; };
    const Expr at = pair_at(vector, lane), repeated = min(at, pairs - 1);
    Expr k = at;
    if (!is_const_one(r.fills_vector)) k = is_const_zero(r.fills_vector) ? repeated : select(r.fills_vector, at, repeated);
    Expr first = as_float(x(channel_of(layout, pairs, k, 0), token, head, batch));
    Expr second = as_float(x(channel_of(layout, pairs, k, 1), token, head, batch));
    Expr cosine = table(k, 0, token, batch), sine = table(k, 1, token, batch);
    r.turned(lane, plane, vector, token, head, batch) = select(plane == 0, first * cosine - second * sine, second * cosine + first * sine);

    const Halide::Type type = x.types()[0];
    const Expr stored = pair_at(r.pairs.z, r.pairs.y);
    if (lanes > 1) r.pairs.where(likely(stored >= r.pairs.z * lanes && stored < pairs));
    r.output(dim, token, head, batch) = Halide::undef(type);
    r.output(channel_of(layout, pairs, stored, r.pairs.x), token, head, batch) =
        as_type(type, r.turned(r.pairs.y, r.pairs.x, r.pairs.z, token, head, batch), shape.rounding);
    r.output(r.passed, token, head, batch) = x(r.passed, token, head, batch);
    return r;
}

AddPositions add_positions(const Func &x, const Func &table) {
    AddPositions a{Func("add_positions")};
    a.output(dim, token, head, batch) = as_type(x.types()[0], as_float(x(dim, token, head, batch)) + table(dim, 0, token, batch));
    return a;
}

namespace {

// Where a packed channel comes from. In arithmetic rather than comparisons: the simplifier then sees what is the same for a vector.
struct Turned {
    Expr second;       // 1 for the second channel of its pair
    Expr pair;         // in the table
    Expr own, partner; // channels as stored
};

Turned half_split(const Expr &dim, const Expr &half) {
    Expr second = (dim / half) % 2, axis = dim / (2 * half), in_half = dim % half;
    // From the axis' first channel on, not from the channel's own place: a vector over both halves may be read whole, from as far before it
    // as the partner may lie for all that Halide knows of a lane's half.
    return {second, axis * half + in_half, dim, axis * (2 * half) + (1 - second) * half + in_half};
}

Turned deinterleaved(const Expr &dim, const Expr &pairs) {
    Expr second = dim / pairs, index = dim % pairs;
    return {second, index, 2 * index + second, 2 * index + 1 - second};
}

Expr turned_channel(const CompiledPosition &p, const PositionedInput &row, const Expr &dim, const Expr &width) {
    const Turned t = p.layout == RotaryLayout::half ? half_split(dim, width / (2 * p.axes)) : deinterleaved(dim, width / 2);
    Expr cosine = row.table(t.pair, 0, row.token, row.batch), sine = row.table(t.pair, 1, row.token, row.batch);
    // Bounds inference can't see that the partner is a channel of the row too.
    Expr partner = Halide::unsafe_promise_clamped(t.partner, 0, width - 1);
    return as_float(row.channel(t.own)) * cosine + as_float(row.channel(partner)) * select(t.second == 0, -sine, sine);
}

} // namespace

Expr positioned(const CompiledPosition &p, const PositionedInput &row, const Expr &dim) {
    if (p.kind == CompiledPosition::Kind::added) return as_float(row.channel(dim)) + row.table(dim, 0, row.token, row.batch);
    if (p.width == 0) return turned_channel(p, row, dim, row.channels);
    // Channels that pass have no pair: those of the last one will do for them.
    Expr turned = turned_channel(p, row, min(dim, p.width - 1), p.width);
    return select(dim < p.width, turned, as_float(row.channel(dim)));
}

} // namespace attune::dsl
