#include "dsl/score.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using Halide::Expr;

Expr add_bias(const Expr &score, const Expr &bias) { return select(strict_equal(bias, masked_score()), masked_score(), score + bias); }

Expr mask_score(const Expr &score, const Expr &allowed) { return select(allowed, score, masked_score()); }

Expr alibi_exponent(const Expr &head, const Expr &heads) {
    Expr log2_power = 31 - Halide::cast<int32_t>(count_leading_zeros(heads)), power = Halide::cast<int32_t>(1) << log2_power;
    Expr among_power = head < power;
    // Every second slope of 2 P heads, 2^(-8 (2k + 1) / 2P), lies half a step before the (k + 1)th of P heads.
    Expr place = Halide::cast<float>(select(among_power, head, head - power) + 1) - select(among_power, 0.0f, 0.5f);
    return place * -8.0f * Halide::reinterpret<float>((127 - log2_power) << 23); // 2^-log2_power
}

Expr alibi_slope(const Expr &head, const Expr &heads) {
    return Halide::cast<float>(raised(Expr(2.0), Halide::cast<double>(alibi_exponent(head, heads))));
}

AlibiSlopes alibi_slopes(const Expr &heads) {
    AlibiSlopes a{Halide::Func("slopes")};
    a.slopes(axes::head) = alibi_slope(axes::head, heads);
    return a;
}

namespace {

// The bucket of a distance >= 0 among `buckets` of one direction. What is added is far less than neighbouring distances differ by, and
// more than rounding takes away: a distance on an edge never comes out below it.
Expr bucket_of_distance(const Expr &distance, const Expr &buckets, const Expr &max_distance) {
    Expr exact = max(buckets / 2, 1), f64_exact = Halide::cast<double>(exact);
    Expr power = log(Halide::cast<double>(max(distance, 1)) / f64_exact) / log(Halide::cast<double>(max_distance) / f64_exact);
    Expr grown = exact + Halide::cast<int32_t>(power * Halide::cast<double>(buckets - exact) + Expr(1e-10));
    // Past max_distance, where most distances of a long text are, there is no need for a logarithm.
    return branch(distance < exact, distance, branch(distance >= max_distance, buckets - 1, min(grown, buckets - 1)));
}

} // namespace

Expr t5_bucket(const Expr &relative, const T5Buckets &t5) {
    Expr both = t5.bidirectional != 0, buckets = select(both, max(t5.buckets / 2, 1), t5.buckets);
    Expr distance = max(-relative, select(both, relative, 0));
    Expr first = select(both && relative > 0, t5.buckets / 2, 0);
    return first + bucket_of_distance(distance, buckets, t5.max_distance);
}

RelativeBias relative_bias(const RelativeBiasInputs &in) {
    const Halide::Var distance("distance"), &head = axes::head, &batch = axes::batch;
    RelativeBias r{Halide::Func("bucket"), Halide::Func("relative")};
    Expr apart = distance - (in.keys - 1); // i - j
    r.bucket(distance, batch) = t5_bucket(-(apart + in.t5_offsets(batch)), in.t5);

    Expr bucket = unsafe_promise_clamped(r.bucket(distance, batch), 0, in.t5.buckets - 1);
    Expr span = Halide::cast<float>(abs(apart + in.alibi_offsets(batch)));
    Expr alibi = branch(in.use_alibi != 0, -in.slopes(head) * span, 0.0f);
    Expr t5 = branch(in.use_t5 != 0, in.t5_table(head, bucket), 0.0f);
    r.result(distance, head, batch) = alibi + t5;
    return r;
}

} // namespace attune::dsl
