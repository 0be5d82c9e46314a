#include "dsl/softmax.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/prefetch.h"
#include "dsl/products.h"

namespace attune::dsl {

using Halide::cast;
using Halide::Expr;
using Halide::Func;

Expr reference_score(const Expr &maximum) { return select(strict_equal(maximum, masked_score()), 0.0f, maximum); }

Expr relative_weight(const Expr &score, const Expr &maximum, const Expr &scale, const Halide::Type &type, const MultiplyAdd &multiply_add) {
    return exp2_scaled(score - reference_score(maximum), scale, type, multiply_add);
}

Expr weight_above_zero(const Expr &score, const Expr &weight) {
    const float smallest = 1.17549435e-38f;
    return select(strict_equal(score, masked_score()), 0.0f, strict_less(weight, smallest), smallest, weight);
}

Expr relative_weight_in_bfloat16(const Expr &score, const Expr &maximum, const Expr &scale) {
    return exp2_scaled_to_bfloat16(score - reference_score(maximum), scale);
}

Expr base2_scale(const Expr &temperature) { return 1.44269504088896f / temperature; }

Expr log_sum_exp(const Expr &maximum, const Expr &sum, const Expr &temperature) {
    return select(strict_equal(sum, 0.0f), masked_score(), tempered_score(maximum, temperature) + natural_log(sum));
}

// Where log2(e) / T is an ordinary float. Below, numbers that differ have quotients too far apart to share weight; above, T counts as this.
SoftmaxScale::SoftmaxScale(const Expr &temperature)
    : temperature(min(temperature, 1.2e38f)), base2(base2_scale(max(this->temperature, 1e-38f))) {
    // 2 / T as two numbers, since of the smallest T it is more than a float can hold.
    const Expr is_small = this->temperature < 0x1p-100f;
    twice_inverse = select(is_small, 0x1p-29f, 2.0f) / this->temperature, rest = select(is_small, 0x1p30f, 1.0f);
}

// In this order: their product may be infinite, which a difference of 0 is not to be multiplied by.
Expr SoftmaxScale::below(const Expr &score, const Expr &reference) const {
    return strict_multiply(strict_multiply(half_below(score, reference), twice_inverse), rest);
}

// The difference is strict, too: else it may be taken before it is halved.
Expr half_below(const Expr &score, const Expr &reference) {
    return strict_subtract(strict_multiply(score, 0.5f), strict_multiply(reference, 0.5f));
}

Expr finished(SoftmaxKind kind, const Expr &sum) {
    return select(strict_equal(sum, 0.0f), 0.0f, kind == SoftmaxKind::softmax ? 1.0f / sum : natural_log(sum));
}

namespace {

// An infinite score is itself the largest: it weighs 1, and not e^(inf - inf). Only a sum of weights can tell; shares of it are NaN.
Expr weight_in_sum(const Expr &score, const Expr &weight) { return select(strict_equal(score, Halide::Float(32).max()), 1.0f, weight); }

template <typename Join> void in_order(const Func &total, const Func &lanes, const Halide::RDom &left, const Expr &none, const Join &join) {
    const Halide::Var column = lanes.args()[0], row = lanes.args()[2];
    join_lanes(
        total, {column, row}, left, none, [&](const Expr &l) { return lanes(column, l, row); }, join);
}

// What is made of a row, whose maximum and sum are there, and of its elements by that.
void declare_finish(Softmax &s, SoftmaxKind kind, const SoftmaxScale &scale) {
    const Halide::Var column = s.score.args()[0], row = s.score.args()[2];
    const Expr maximum = s.maximum(column, row), sum = cast<float>(s.sum(column, row));
    if (kind == SoftmaxKind::softmax)
        s.finish(column, row) = finished(kind, sum);
    else if (kind == SoftmaxKind::log_softmax) {
        s.reduced = Func("reduced");
        s.reduced(column, row) = Halide::Tuple(sum, reference_score(maximum));
        s.finish(column, row) = Halide::Tuple(finished(kind, s.reduced(column, row)[0]), s.reduced(column, row)[1]);
    } else
        s.finish(column, row) = log_sum_exp(maximum, sum, scale.temperature);
}

void declare_result(Softmax &s, const SoftmaxInputs &in, const SoftmaxOptions &options, const SoftmaxScale &scale, const Expr &counts) {
    const Halide::Var column = s.score.args()[0], i = s.score.args()[1], row = s.score.args()[2];
    const Halide::FuncRef finish = s.finish(column, row);
    // Unless x is of another type than the result.
    const NaN nan = in.x.types()[0] == in.type ? NaN::of_type : NaN::any;
    const auto rounded = [&](const Expr &result) { return as_type(in.type, result, options.shape.rounding, nan); };
    if (options.kind == SoftmaxKind::softmax)
        s.result(column, i, row) = rounded(select(counts, s.weight(column, i, row) * finish, 0.0f));
    else if (options.kind == SoftmaxKind::log_softmax) {
        const Expr result = scale.below(s.score(column, i, row), finish[1]) - finish[0];
        s.result(column, i, row) = rounded(select(counts, result, masked_score()));
    } else
        s.result(column, i, row) = finish;
}

} // namespace

Softmax softmax(const SoftmaxInputs &in, const SoftmaxOptions &options) {
    Halide::Var column("column"), i("i"), row("row");
    const Halide::Var &lane = axes::lane;
    Softmax s;
    s.kind = options.kind, s.extent = in.extent, s.rows = in.rows, s.in_place = Halide::Internal::const_false();
    s.score = Func("score"), s.lane_maximum = Func("lane_maximum"), s.maximum = Func("maximum"), s.weight = Func("weight");
    s.lane_sum = Func("lane_sum"), s.sum = Func("sum"), s.finish = Func("finish"), s.result = Func("softmax");
    s.chunks = row_chunks(in.extent, options.shape.lanes, options.shape.vector);
    s.lanes = Halide::RDom(0, options.shape.left, "lanes");
    s.special = {in.use_mask == 0};
    const SoftmaxScale scale(in.temperature);

    Expr counts = in.use_mask == 0 || in.mask(column, i, row) != 0;
    s.score(column, i, row) = select(counts, as_float(in.x(column, i, row)), masked_score());

    const auto larger = [](const Expr &a, const Expr &b) { return max(a, b); };
    // Strict: in what order, and whether a weight's last product goes into its sum, would be LLVM's choice, not alike in all loops.
    const auto added = [](const Expr &a, const Expr &b) { return strict_add(a, b); };
    s.lane_maximum(column, lane, row) = masked_score();
    for (const RowChunk &chunk : s.chunks)
        s.lane_maximum(column, lane, row) = max(s.lane_maximum(column, lane, row), s.score(column, chunk.at, row));
    s.maxima = halved_lanes(s.lane_maximum, "maximum", options.shape.lanes, options.shape.left, larger);
    in_order(s.maximum, s.maxima.empty() ? s.lane_maximum : s.maxima.back(), s.lanes, masked_score(), larger);

    Expr score = s.score(column, i, row), maximum = s.maximum(column, row);
    // A logarithm may be so small that an error of its sum shows however the result is rounded.
    const Halide::Type of_weight = options.kind == SoftmaxKind::softmax ? in.type : Halide::Float(32);
    Expr weight = relative_weight(score, maximum, scale.base2, of_weight, options.shape.multiply_add);
    if (options.kind == SoftmaxKind::log_sum_exp) weight = weight_in_sum(score, weight);
    // Past the last row nothing is read, only asked for, which is no access: so that the row needs no bound there.
    if (const Expr &ahead = options.shape.rows_ahead; ahead.defined()) {
        const Expr later = in.x(column, i, Halide::unsafe_promise_clamped(row + ahead, 0, in.rows - 1)), &near = options.shape.asks_near;
        weight = with_prefetch_near_where(near, weight, later);
    }
    s.weight(column, i, row) = weight;
    const Halide::Type sums = options.shape.sums;
    s.lane_sum(column, lane, row) = cast(sums, 0);
    for (const RowChunk &chunk : s.chunks)
        s.lane_sum(column, lane, row) =
            added(s.lane_sum(column, lane, row), cast(sums, chunk.counted(s.weight(column, chunk.at, row), 0.0f)));
    s.sums = halved_lanes(s.lane_sum, "sum", options.shape.lanes, options.shape.left, added);
    // In a loop LLVM keeps the order; CUDA's schedules split this sum, by rfactor(), which strict ones don't have.
    in_order(s.sum, s.sums.empty() ? s.lane_sum : s.sums.back(), s.lanes, cast(sums, 0),
             [](const Expr &a, const Expr &b) { return a + b; });

    declare_finish(s, options.kind, scale);
    declare_result(s, in, options, scale, counts);
    return s;
}

} // namespace attune::dsl
