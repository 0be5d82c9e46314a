#include "dsl/frequency.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using axes::pair;
using axes::which;
using Halide::cast;
using Halide::Expr;
using Halide::Func;

namespace {

enum Shared { base, ramp_first, ramp_last };

constexpr double two_pi = 6.28318530717958647693;

Expr is(const FrequencyInputs &in, RotaryScaling scaling) { return in.scaling == static_cast<int>(scaling); }

Expr number(double value) { return Expr(value); }

// factor^(W / (W - 2)) times the base, and no more than any base can be, since the first pair's power of an infinite one would be no
// number. With W = 2 there is one pair, which turns by 1 whatever the base.
Expr ntk_base(const FrequencyInputs &in) {
    const Expr base = in.base * raised(in.factor, cast<double>(in.width) / cast<double>(max(in.width - 2, 1)));
    return min(base, number(1e308)); // below the type's largest, which Halide takes for no bound
}

// The pair, as a real number, that turns `turns` times within the context trained on.
Expr pair_that_turns(const FrequencyInputs &in, const Expr &turns) {
    return cast<double>(in.width) * log(in.original / (turns * number(two_pi))) / (number(2.0) * log(in.base));
}

// Pairs up to ramp_first keep their frequency, pairs from ramp_last on are interpolated.
Func shared_numbers(const FrequencyInputs &in) {
    Expr first = max(floor(pair_that_turns(in, in.high)), number(0.0));
    Expr last = min(ceil(pair_that_turns(in, in.low)), cast<double>(in.width - 1));
    Func shared("shared");
    shared(which) = number(0.0);
    shared(base) = select(is(in, RotaryScaling::ntk), ntk_base(in), in.base);
    shared(ramp_first) = first;
    shared(ramp_last) = select(first == last, last + number(0.001), last);
    return shared;
}

// The share of a pair's frequency that isn't interpolated, 0 to 1.
Expr kept_by_yarn(const Func &shared, const Expr &index) {
    Expr first = shared(ramp_first), last = shared(ramp_last);
    return number(1.0) - clamp((cast<double>(index) - first) / (last - first), number(0.0), number(1.0));
}

Expr kept_by_llama3(const FrequencyInputs &in, const Expr &frequency) {
    Expr turns = in.original * frequency / number(two_pi);
    return clamp((turns - in.low) / (in.high - in.low), number(0.0), number(1.0));
}

} // namespace

Expr inverse_frequency(const Expr &base, const Expr &pair_index, const Expr &width) {
    return raised(cast<double>(base), number(-2.0) * cast<double>(pair_index) / cast<double>(width));
}

Func plain_turns_per_token(const Expr &width, const Expr &base) {
    Func turns("turns_per_token");
    turns(pair) = inverse_frequency(base, pair, width) / number(two_pi);
    return turns;
}

Frequencies frequencies(const FrequencyInputs &in) {
    Frequencies f{shared_numbers(in), Func("turns_per_token"), Func("magnitude")};
    Expr index = pair % (in.width / 2), frequency = inverse_frequency(f.shared(base), index, in.width);
    Expr kept = select(is(in, RotaryScaling::linear), number(0.0), is(in, RotaryScaling::yarn), kept_by_yarn(f.shared, index),
                       is(in, RotaryScaling::llama3), kept_by_llama3(in, frequency), number(1.0));
    f.turns_per_token(pair) = frequency * (kept + (number(1.0) - kept) / in.factor) / number(two_pi);
    Expr yarn = number(1.0) + select(in.factor > number(1.0), number(0.1) * log(in.factor), number(0.0));
    f.magnitude() = cast<float>(select(is(in, RotaryScaling::yarn), yarn, number(1.0)));
    return f;
}

} // namespace attune::dsl
