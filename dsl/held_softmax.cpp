#include "dsl/held_softmax.h"

#include "dsl/numeric.h"
#include "dsl/products.h"
#include "dsl/warp.h"

namespace attune::dsl {

using Halide::Expr;
using Halide::Func;
using Halide::Var;

namespace {

// e^((score - maximum) / T). Rounding the exponent shows in small weights alone, and so neither in 16 bits nor in a sum.
Expr rough_weight(const Expr &score, const Expr &maximum, const SoftmaxScale &scale) {
    return warp::exp2((score - reference_score(maximum)) * scale.base2);
}

Expr weight_in_result(const Expr &score, const Expr &maximum, const SoftmaxScale &scale, const Halide::Type &type) {
    return type.bits() == 16 ? rough_weight(score, maximum, scale) : relative_weight(score, maximum, scale.base2);
}

// As finished(); in 16 bits it needn't be the nearest number.
Expr finish_of(SoftmaxKind kind, const Expr &sum, const Halide::Type &type) {
    if (kind != SoftmaxKind::softmax || type.bits() != 16) return finished(kind, sum);
    return select(strict_equal(sum, 0.0f), 0.0f, warp::reciprocal(sum));
}

Expr log_weight(const Expr &score, const Expr &maximum, const SoftmaxScale &scale) {
    return half_below(score, reference_score(maximum)) * (2.0f / scale.temperature);
}

// An index that isn't past what there is.
Expr within(const Expr &index, const Expr &extent) { return Halide::unsafe_promise_clamped(index, 0, extent - 1); }

// x of a row's only column at `first` + element, or -inf where that is past the end: from there the last vector is read, which is no
// branch.
Expr score_at(const SoftmaxInputs &in, const Expr &first, const Expr &element, const Expr &row, int vector) {
    const Expr last = in.extent - vector;
    const Expr x = in.x(0, within(min(first, last) + element, in.extent), within(min(row, in.rows - 1), in.rows));
    return select(first <= last, as_float(x), masked_score());
}

// A GPU makes NaN of f16 of NaN. What it computes is no NaN but that whose bits, but for the sign, are all ones: one operation keeps it
// from running over when it is rounded, and leaves all else as it is.
Expr rounded(const Halide::Type &type, const Expr &x) {
    Rounding rounding;
    rounding.float16_keeps_nan = true;
    rounding.to_bfloat16 = [](const Expr &number) {
        const Expr bits = Halide::reinterpret<uint32_t>(min(Halide::reinterpret<int32_t>(number), 0x7fc00000));
        return Halide::cast<uint16_t>(rounded_to_upper_half(bits) >> 16);
    };
    return as_type(type, x, rounding);
}

} // namespace

HeldSoftmax held_softmax(const SoftmaxInputs &in, SoftmaxKind kind, const RowShare &share) {
    const Var element("element"), vector("vector"), thread("thread"), row("row"), column("column"), i("i");
    HeldSoftmax s{kind, share};
    const std::string name = "held_" + std::to_string(share.elements()) + "_";
    auto named = [&](const char *part) { return Func(name + part); };
    s.score = named("score"), s.own_maximum = named("own_maximum"), s.warp_maximum = named("warp_maximum"), s.maximum = named("maximum");
    s.weight = named("weight"), s.own_sum = named("own_sum"), s.warp_sum = named("warp_sum"), s.sum = named("sum");
    s.finish = named("finish"), s.own_result = named("own_result"), s.result = named("result");
    const SoftmaxScale scale(in.temperature);

    s.score(element, vector, thread, row) = score_at(in, (vector * share.threads + thread) * share.vector, element, row, share.vector);
    const auto score_of = [&](const Expr &e, const Expr &v) { return s.score(e, v, thread, row); };
    s.own_maximum(thread, row) = joined_elements(share, score_of, larger);
    join_threads(s.maximum, s.warp_maximum, s.own_maximum, share, larger);

    const Expr score = score_of(element, vector), maximum = s.maximum(thread, row);
    s.weight(element, vector, thread, row) =
        kind == SoftmaxKind::softmax ? weight_in_result(score, maximum, scale, in.type) : rough_weight(score, maximum, scale);
    const auto weight_of = [&](const Expr &e, const Expr &v) { return s.weight(e, v, thread, row); };
    s.own_sum(thread, row) = joined_elements(share, weight_of, added);
    join_threads(s.sum, s.warp_sum, s.own_sum, share, added);
    s.finish(thread, row) = finish_of(kind, s.sum(thread, row), in.type);

    const Expr finish = s.finish(thread, row);
    s.own_result(element, vector, thread, row) =
        rounded(in.type, kind == SoftmaxKind::softmax ? weight_of(element, vector) * finish : log_weight(score, maximum, scale) - finish);

    s.result(column, i, row) =
        s.own_result(i % share.vector, i / (share.vector * share.threads) % share.vectors, i / share.vector % share.threads, row);
    return s;
}

OnlineSoftmax online_softmax(const SoftmaxInputs &in, SoftmaxKind kind, const RowShare &share) {
    const Var element("element"), vector("vector"), thread("thread"), row("row"), step("step"), number("number"), column("column"), i("i");
    OnlineSoftmax s{kind, share};
    const std::string name = "online_" + std::to_string(share.vector) + "_";
    auto named = [&](const char *part) { return Func(name + part); };
    s.state = named("state"), s.own_maximum = named("own_maximum"), s.warp_maximum = named("warp_maximum");
    s.maximum = named("maximum"), s.own_sum = named("own_sum"), s.warp_sum = named("warp_sum"), s.sum = named("sum");
    s.finish = named("finish"), s.result = named("result");
    const SoftmaxScale scale(in.temperature);

    // The largest score before a step, that after it, and the sum of weights relative to the latter: each reads those before it.
    const int before = 0, after = 1, sum = 2;
    const auto of = [&](const Expr &which) { return s.state(which, thread, row); };
    s.state(number, thread, row) = select(number == sum, 0.0f, masked_score());
    const int at_once = share.elements(), one_each = share.threads * share.vector;
    const Expr whole = in.extent / at_once, rest = (in.extent % at_once + one_each - 1) / one_each;
    s.parts = {{share, Halide::RDom(0, 3, 0, whole, "whole"), named("score")},
               {{share.threads, 1, share.vector, share.rows}, Halide::RDom(0, 3, 0, rest, "rest"), named("last_score")}};
    for (const OnlineSoftmax::Part &part : s.parts) {
        const bool is_whole = part.share.vectors == share.vectors;
        const Expr turn = step * part.share.vectors + vector + (is_whole ? Expr(0) : whole * share.vectors);
        const Expr first = (turn * share.threads + thread) * share.vector;
        Func score = part.score;
        score(element, vector, thread, row, step) = is_whole ? as_float(in.x(0, within(first + element, in.extent), within(row, in.rows)))
                                                             : score_at(in, first, element, row, share.vector);
        const auto score_of = [&](const Expr &e, const Expr &v) { return score(e, v, thread, row, part.steps.y); };
        const auto weight_of = [&](const Expr &e, const Expr &v) { return rough_weight(score_of(e, v), of(after), scale); };
        const Expr step_maximum = joined_elements(part.share, score_of, larger), step_sum = joined_elements(part.share, weight_of, added);
        s.state(part.steps.x, thread, row) =
            select(part.steps.x == before, of(after), part.steps.x == after, larger(of(after), step_maximum),
                   of(sum) * rough_weight(of(before), of(after), scale) + step_sum);
    }

    s.own_maximum(thread, row) = of(after);
    join_threads(s.maximum, s.warp_maximum, s.own_maximum, share, larger);
    s.own_sum(thread, row) = of(sum) * rough_weight(of(after), s.maximum(thread, row), scale);
    join_threads(s.sum, s.warp_sum, s.own_sum, share, added);
    s.finish(thread, row) = finish_of(kind, s.sum(thread, row), in.type);

    const Expr own = i / share.vector % share.threads, score = as_float(in.x(0, i, row));
    const Expr maximum = s.maximum(own, row), finish = s.finish(own, row);
    s.result(column, i, row) = rounded(in.type, kind == SoftmaxKind::softmax ? weight_in_result(score, maximum, scale, in.type) * finish
                                                                             : log_weight(score, maximum, scale) - finish);
    return s;
}

} // namespace attune::dsl
