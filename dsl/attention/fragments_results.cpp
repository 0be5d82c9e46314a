// What becomes of the states: outputs and log-sum-exp, at once or by way of chunks.
#include "dsl/attention/fragments_parts.h"

#include <limits>

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/score.h"
#include "dsl/softmax.h"
#include "dsl/warp.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::reinterpret;
using Halide::Var;
using Halide::Internal::Interval;

std::pair<Expr, Expr> FragmentDeclaration::closing(const Expr &maximum, const Expr &sum) const {
    const Expr sink = select(in.use_sinks != 0, in.sinks(head), masked_score()), log2_e = base2_scale(1.0f);
    // Over T, and no lower than the lowest float, which what is attended to never comes to look like something masked.
    const Expr over_t = warp::maximum(warp::multiply(maximum, to_base2() * 0.693147180559945f), -3.4028234e38f);
    const Expr tempered = warp::choose(warp::equal(maximum, masked_score()), masked_score(), over_t);
    const Expr joint = reference_of(warp::maximum(tempered, sink));
    // Of the larger it is 1, also where that is inf: a score over a low temperature may be.
    auto weight = [&](const Expr &score) {
        return warp::choose(warp::equal(score, joint), 1.0f, warp::exp2(warp::subtract(score, joint) * log2_e));
    };
    const Expr kept = weight(tempered), total = warp::multiply_add(sum, kept, weight(sink));
    const Expr none = warp::equal(total, 0.0f);
    // Not 0 where a sink is ever so far above: what is infinite stays so.
    const Expr share = warp::maximum(kept * warp::reciprocal(total), std::numeric_limits<float>::denorm_min());
    return {warp::choose(none, 0.0f, share), warp::choose(none, masked_score(), joint + warp::log2(total) * 0.693147180559945f)};
}

FragmentDeclaration::RowPlace FragmentDeclaration::place_of(const Expr &of_tile, const Expr &in_tile, const Expr &q) const {
    return {of_tile, in_tile / (16 * b.row_tiles), in_tile / 16 % b.row_tiles, in_tile / 8 % 2, in_tile % 8, q};
}

Expr FragmentDeclaration::state_at(const Expr &s, const RowPlace &row) const {
    return made.state(s, row.q, row.g, row.warp, row.tile, head, batch);
}

Expr FragmentDeclaration::maximum_at(const RowPlace &row) const {
    const Expr of_half = row.row_tile * 2 + row.half;
    return maximum_of(state_at(slots.reference + of_half, row), state_at(slots.limit + of_half, row));
}

Expr FragmentDeclaration::output_at(const Expr &value_tile, const Expr &element, const RowPlace &row) const {
    return state_at(slots.output + (value_tile * b.row_tiles + row.row_tile) * 4 + element, row);
}

Expr FragmentDeclaration::sum_at(const RowPlace &row) const {
    if (b.warpgroups) return state_at(slots.sum + row.row_tile * 2 + row.half, row);
    // Both are the sum. If nobody read one, it wouldn't be kept, and every product would need a zero put in its place.
    return warp::maximum(output_at(slots.value_columns, row.half * 2, row), output_at(slots.value_columns, row.half * 2 + 1, row));
}

void FragmentDeclaration::declare_results() {
    const Var &q = made.q;
    const RowPlace here = place_of(token / b.rows(), token % b.rows(), q);
    made.factor(q, token, head, batch) = closing(maximum_at(here), sum_at(here)).first;
    const Expr factor = made.factor(q, token, head, batch);
    auto finished = [&](int odd) { return output_at(column, here.half * 2 + odd, here) * factor; };
    made.output(q, column, token, head, batch) = warp::pack(in.element, finished(0), finished(1));
    const RowPlace there = place_of(token / b.rows(), token % b.rows(), lane);
    made.lse(lane, token, head, batch) = closing(maximum_at(there), sum_at(there)).second;
}

void FragmentDeclaration::declare_partial() {
    const RowPlace at = place_of(tile, row, made.q);
    const Expr output = output_at(min(column, slots.value_columns - 1), at.half * 2 + odd, at);
    made.partial(odd, made.q, column, row, tile, head, batch) =
        select(column < slots.value_columns, output, odd == 0, maximum_at(at), sum_at(at));
}

void FragmentDeclaration::declare_merge() {
    const Var &q = made.q;
    const RowInChunks place = row_in_chunks(rows, b.rows(), chunks, in.heads);
    auto partial = [&](const Expr &o, const Expr &of_q, const Expr &c, const Expr &of_chunk) {
        return made.partial(o, of_q, c, place.row, place.first_tile + of_chunk, place.kv_head, batch);
    };
    ChunkStates states;
    states.elements = {odd, q, column}, states.rows = {token, head, batch};
    states.maximum = [&](const Expr &of_chunk) { return partial(0, 0, slots.value_columns, of_chunk); };
    states.element = [&](const Expr &of_chunk) { return partial(odd, q, column, of_chunk); };
    const Interval keys = mask().possible_keys({batch, head, {token, token}, {Expr(0), in.keys - 1}});
    states.first = keys.min / in.keys_per_chunk, states.last = keys.max / in.keys_per_chunk;
    states.count = chunks, states.at_once = b.merged_at_once, states.base2_scale = to_base2();
    made.merge = merge_chunks(states);
    auto merged = [&](const Expr &o, const Expr &of_q, const Expr &c) { return made.merge.merged(o, of_q, c, token, head, batch); };
    const auto [factor, log_sum_exp] = closing(made.merge.joint(token, head, batch), merged(1, 0, slots.value_columns));
    made.closed(half, token, head, batch) = select(half == 0, factor, log_sum_exp);
    auto finished = [&](int o) { return merged(o, q, column) * made.closed(0, token, head, batch); };
    made.output(q, column, token, head, batch) = warp::pack(in.element, finished(0), finished(1));
    made.lse(lane, token, head, batch) = made.closed(1, token, head, batch);
}

} // namespace attune::dsl
