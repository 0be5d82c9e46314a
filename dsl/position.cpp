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

namespace {

// What rotary() makes its stages of.
struct RotaryRows {
    Func x, table;
    RotaryLayout layout;
    Expr channels, pairs;

    Expr passed() const { return channels - 2 * pairs; }
    // The longest vector that pairs fill, and channels that pass, if any do.
    Expr longest_vector() const { return select(passed() <= 0, pairs, min(pairs, passed())); }

    // Whether the i-th vectors of a shape are for such rows.
    Expr fit(const RotaryShape &shape, size_t i) const {
        const RotaryShape::Vectors &by = shape.vectors[i];
        Expr fit = by.lanes == 1 ? Halide::Internal::const_true() : longest_vector() >= by.lanes;
        if (by.whole) fit = fit && longest_vector() % by.lanes == 0;
        if (!by.passes && !shape.passes_apart) fit = fit && passed() <= 0;
        return fit;
    }
    // Whether rows are turned by them.
    Expr taken(const RotaryShape &shape, size_t i) const {
        Expr taken = fit(shape, i);
        for (size_t before = 0; before < i; before++)
            taken = taken && !fit(shape, before);
        return Halide::Internal::simplify(taken);
    }

    // The stage that turns rows by vectors of so many, if `taken`: then they fill one. One that would end past the last begins before.
    RotaryTurn turn_by(const RotaryShape::Vectors &by, const Expr &taken, Func output) const {
        const int lanes = by.lanes;
        const bool passes = by.passes;
        const Expr vectors = divided_up(pairs, lanes), two = 2 * lanes, vectors_passed = divided_up(passed(), two);
        const Expr most = passes ? channels : vectors, once = is_const_one(taken) ? Expr(1) : select(taken, 1, 0);
        RDom rows(0, 2, 0, lanes, 0, most, 0, passes ? 2 : 1, 0, once, "pairs");
        RotaryTurn t{lanes, Func("turned"), rows[0], rows[1], rows[2], rows[3], rows[4]};

        // The first of a vector's lanes: promised alone, as loads of every second channel are joined by how their lanes lie.
        const auto begin = [&](const Expr &step, const Expr &count) {
            return Halide::unsafe_promise_clamped(lanes == 1 ? step : min(likely(step * lanes), count - lanes), 0, count - lanes);
        };
        const Expr k = begin(vector, pairs) + axes::lane;
        const Expr first = as_float(x(channel_of(layout, pairs, k, 0), token, head, batch));
        const Expr second = as_float(x(channel_of(layout, pairs, k, 1), token, head, batch));
        const Expr cosine = table(k, 0, token, batch), sine = table(k, 1, token, batch);
        t.turned(axes::lane, plane, vector, token, head, batch) =
            select(plane == 0, first * cosine - second * sine, second * cosine + first * sine);

        const Halide::Type type = x.types()[0];
        // No promise here: a store whose index makes one can't leave out lanes. Instead, `once`, which is 0 in all turns that run, is at
        // most -1 in bounds inference where none does, so that what rows of fewer pairs than lanes don't have isn't asked for.
        const Expr first_stored = min(likely(t.vector * lanes), max(pairs, lanes) - lanes) + t.once * lanes;
        const Expr at = lanes == 1 ? begin(t.vector, pairs) : first_stored + t.lane;
        const Expr is_left = lanes == 1 ? Halide::Internal::const_true() : likely(at >= t.vector * lanes);
        Expr channel = channel_of(layout, pairs, at, t.plane);
        Expr value = as_type(type, t.turned(t.lane, t.plane, t.vector, token, head, batch), by.rounding, NaN::of_type);
        if (!passes) {
            if (lanes > 1) rows.where(is_left);
        } else {
            // What passes may be stored twice, as it is what it was.
            const Expr step = min(2 * t.vector + t.plane, (passed() - 1) / lanes), passing = 2 * pairs + begin(step, passed()) + t.lane;
            rows.where(likely(t.vector < select(t.passes == 0, vectors, vectors_passed)));
            if (lanes > 1) rows.where(t.passes == 1 || is_left);
            channel = select(t.passes == 0, channel, passing);
            value = select(t.passes == 0, value, x(passing, token, head, batch));
        }
        output(channel, token, head, batch) = value;
        return t;
    }
};

} // namespace

Rotary rotary(const Func &x, const Expr &channels, const Expr &tokens, RotaryLayout layout, const Func &table, const Expr &pairs,
              const RotaryShape &shape) {
    const RotaryRows rows{x, table, layout, channels, pairs};
    Rotary r{{}, RDom(2 * pairs, rows.passed(), "passed"), Func("rotary"), tokens, Halide::Internal::const_false()};
    r.output(dim, token, head, batch) = Halide::undef(x.types()[0]);
    for (size_t i = 0; i < shape.vectors.size(); i++)
        r.turns.push_back(rows.turn_by(shape.vectors[i], rows.taken(shape, i), r.output));
    if (shape.passes_apart) r.output(r.passed, token, head, batch) = x(r.passed, token, head, batch);
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
