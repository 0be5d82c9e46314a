#include "dsl/position.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::Var;

namespace {

const Var pair{"pair"};

// In f64, and in turns: f32 would be off by 0.06 radians at position 1,000,000.
Func turns_per_token(const Expr &width, const Expr &base) {
    Func turns("turns_per_token");
    turns(pair) = inverse_frequency(base, pair, width) * Expr(0.15915494309189533577);
    return turns;
}

Expr turns_at(const Func &per_token, const Expr &pair_index, const Expr &position) {
    return cast<double>(position) * per_token(pair_index);
}

} // namespace

Expr inverse_frequency(const Expr &base, const Expr &pair_index, const Expr &width) {
    return pow(cast<double>(base), Expr(-2.0) * cast<double>(pair_index) / cast<double>(width));
}

Sinusoidal sinusoidal(const Expr &width, const Expr &base, const Expr &offset) {
    Sinusoidal s{turns_per_token(width, base), Func("sinusoidal")};
    Expr turns = turns_at(s.turns_per_token, dim / 2, token + offset);
    // A cosine is a sine a quarter turn on: one polynomial serves both.
    s.table(dim, token) = sin_turns(turns + select(dim % 2 == 0, Expr(0.0), Expr(0.25)));
    return s;
}

Rotary rotary(const Func &x, RotaryLayout layout, const Expr &rotary_dim, const Expr &base, const Expr &offset) {
    Rotary r{turns_per_token(rotary_dim, base), Func("cosine"), Func("sine"), Func("turned"), Func("rotary")};
    Expr turns = turns_at(r.turns_per_token, pair, token + offset);
    r.cosine(pair, token) = cos_turns(turns);
    r.sine(pair, token) = sin_turns(turns);

    Expr half = rotary_dim / 2;
    Expr first = layout == RotaryLayout::half ? dim < half : dim % 2 == 0;
    Expr pair_index = layout == RotaryLayout::half ? select(dim < half, dim, dim - half) : dim / 2;
    Expr partner = layout == RotaryLayout::half ? select(dim < half, dim + half, dim - half) : select(dim % 2 == 0, dim + 1, dim - 1);
    // Channels that pass have no pair: any legal index will do for them.
    Expr turned = dim < rotary_dim, k = clamp(pair_index, 0, half - 1), other = clamp(partner, 0, rotary_dim - 1);
    Expr sine = select(first, -r.sine(k, token), r.sine(k, token));
    r.result(dim, token, head, batch) =
        select(turned, x(dim, token, head, batch) * r.cosine(k, token) + x(other, token, head, batch) * sine, x(dim, token, head, batch));
    r.output(dim, token, head, batch) = r.result(dim, token, head, batch);
    return r;
}

} // namespace attune::dsl
