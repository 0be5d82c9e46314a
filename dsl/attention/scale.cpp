// Where scores get their scale, and the exponents of their weights.
//
// Products of numbers, be they in parts, have it in q, once for all keys, and with it, where nothing takes scores as they are, all that
// makes exponents of them. Pairs hold q as it is, so that it isn't rounded, but for the sign of the scale: the largest score stays that of
// the largest product. Its size goes with the exponential, unless something comes between that takes scores as they are. What keys of int8
// are scaled with by key comes first of all, so that a product is what it is without.
#include "dsl/attention/parts.h"

#include "dsl/numeric.h"
#include "dsl/softmax.h"
#include "dsl/word_powers.h"

namespace attune::dsl {

using Halide::Expr;

namespace {

constexpr float weight_of_largest = 1.4140625f; // sqrt 2, as bf16
constexpr float log4_e = 0.721347520444482f, ln_4 = 1.38629436111989f;
// Of what makes exponents of products of pairs. Above, softmax is the arg max already. Below, it is the mean, and q counts as 0. Both are
// normal numbers: what is 0 or infinite here, or a denormal where the caller has them count as 0, would make NaN of a masked score.
constexpr float least_scale = 1.17549435e-38f, most_scale = 1e37f;

// 0 for each half, and NaN for those that are Inf or NaN.
Expr times_zero(const Expr &pair) {
    const auto half = [&](uint32_t exponent, uint32_t nan) {
        return select((pair & Expr(exponent)) == Expr(exponent), Expr(nan), Expr(0u));
    };
    return half(0x7f80u, 0x7fc0u) | half(0x7f800000u, 0x7fc00000u);
}

// Where the rounding of a maximum would be more than a weight can hold, a smaller scale serves: any smaller score is 2^-24 of it below, and
// still weighs less than 2^-63 of it.
Expr row_scale(const Expr &reference, const Expr &base2) {
    const float most = 1073741824.0f, least_score = 1e-28f;
    return min(base2, most / max(abs(reference), least_score));
}

} // namespace

Expr AttentionInputs::changes_scores() const {
    return score ? Halide::Internal::const_true() : softcap > 0.0f || use_relative != 0 || use_bias != 0;
}

Expr scored_by_exponent(const AttentionInputs &in, const Blocking &blocking) {
    // Products of 16-bit numbers are exact, unless those of q are rounded once more.
    const bool exact = in.query.type() != Halide::Float(32);
    if (!blocking.scores_as_exponents || exact) return Halide::Internal::const_false();
    // Below, a score that is in range might not be any more; above, numbers of q would lose digits to the lower end of theirs.
    const float least = 0.75f, most = 1024.0f;
    return !in.changes_scores() && in.temperature >= least && in.temperature <= most;
}

bool scaled_by_key(const AttentionInputs &in, const Blocking &blocking) {
    return in.pages.scaled() && blocking.products.rounds() && !in.positioning;
}

Expr query_scale(const AttentionInputs &in, const Blocking &blocking) {
    return in.scale * select(scored_by_exponent(in, blocking), log4_e / in.temperature, 1.0f);
}

Expr scaled_query(const AttentionInputs &in, const Blocking &blocking, const Expr &packed) {
    if (!blocking.products.pairs) return packed * query_scale(in, blocking);
    if (!blocking.products.rounds()) return packed;
    const uint32_t signs = 0x80008000u;
    const Expr is_zero = in.scale == 0.0f || (!in.changes_scores() && abs(in.scale) * base2_scale(in.temperature) < least_scale);
    return select(is_zero, times_zero(packed), packed ^ select(in.scale < 0.0f, Expr(signs), Expr(0u)));
}

Expr scale_left(const AttentionInputs &in, const Blocking &blocking) {
    if (blocking.products.rounds()) return select(in.changes_scores(), 1.0f, abs(in.scale));
    return select(scored_by_exponent(in, blocking), ln_4 * in.temperature, 1.0f);
}

Expr exponent_scale(const AttentionInputs &in, const Blocking &blocking) {
    const Expr base2 = base2_scale(in.temperature);
    if (blocking.products.rounds()) return clamp(scale_left(in, blocking) * base2, least_scale, most_scale);
    return select(scored_by_exponent(in, blocking), 2.0f, base2);
}

Expr weight_in_block(const AttentionInputs &in, const Blocking &blocking, const Expr &score, const Expr &maximum) {
    // Not by one scale for both: what the product with it costs is what exponents save.
    return branch(scored_by_exponent(in, blocking), power_of_4(score - reference_score(maximum)),
                  relative_weight(score, maximum, base2_scale(in.temperature)));
}

Expr exponent(const Expr &which, const Expr &maximum, const Expr &base2) {
    const Expr reference = reference_score(maximum), scale = row_scale(reference, base2);
    const Expr product = strict_multiply(reference, scale);
    const auto in_words = [](const Expr &x) { return strict_multiply(x, WordExponent::per_unit); };
    return branch(
        which == int(BlockState::row_scale), scale,
        branch(which == int(BlockState::row_reference), product,
               branch(which == int(BlockState::word_scale), in_words(scale), strict_subtract(WordExponent::of_zero, in_words(product)))));
}

Expr state_factor(const Products &products, const Expr &is_added, const Expr &of_state, const Expr &maximum, const Expr &base2) {
    if (!products.rounds()) return relative_weight(of_state, maximum, base2);
    // Each product rounded by itself, as those that the weights are relative to were.
    const Expr reference = reference_score(maximum), scale = row_scale(reference, base2);
    const Expr exponent = strict_subtract(strict_multiply(of_state, scale), strict_multiply(reference, scale));
    const Expr factor = power_of_4(0.5f * exponent); // of 2^exponent LLVM makes code that leaves two sums of the scores no register
    return select(is_added, factor * (1 / weight_of_largest), factor);
}

} // namespace attune::dsl
