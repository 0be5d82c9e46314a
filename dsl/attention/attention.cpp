#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;

Expr AttentionInputs::tensors_allow(const Cell &cell) const {
    return (use_attend == 0 || boolean_tensor(attend).allows(cell)) && (use_bias == 0 || finite_bias(bias).allows(cell));
}

Expr AttentionInputs::beside_intervals_allow(const Cell &cell) const {
    return mask ? tensors_allow(cell) && mask->allows(cell) : tensors_allow(cell);
}

namespace {

Expr positioned(const AttentionInputs &in, const Func &x, const Func &table, const Expr &d, const Expr &token, const Expr &head,
                const Expr &batch, const Expr &position) {
    auto channel = [=](const Expr &c) { return as_float(x(c, token, head, batch)); };
    return in.positioning ? (*in.positioning)({channel, table, token, batch, in.head_dim, position}, d) : channel(d);
}

} // namespace

Expr AttentionInputs::query_channel(const Expr &d, const Expr &token, const Expr &head, const Expr &batch) const {
    const Expr position = offsets.defined() ? token + offsets(batch) : token;
    return positioned(*this, query, query_position, d, token, head, batch, position);
}

Expr AttentionInputs::key_channel(const Expr &d, const Expr &token, const Expr &query_head, const Expr &batch) const {
    return positioned(*this, key, key_position, d, token, query_head / heads_per_group, batch, token);
}

void Blocking::share(const Expr &rows_at_a_time, const Expr &queries, const Expr &keys) {
    if (tiles_per_task == 1) return;
    const Expr rows = min(rows_at_a_time, most_cells_at_a_time / max(keys, 1));
    heads_at_a_time = clamp(rows / max(divided_up(queries, rows_per_tile) * rows_per_tile, 1), 1, most_heads_at_a_time);
    const Expr tiles = clamp(rows_at_a_time / rows_per_tile, 1, tiles_per_task);
    // Of a signed number a shift would ask for the sign. The limits hold in any case; by them it is known to be positive.
    shared_tiles = clamp(Expr(1) << cast<uint32_t>(31 - count_leading_zeros(tiles)), 1, tiles_per_task);
}

Expr Blocking::tiles_of_task() const { return shared_tiles.defined() ? shared_tiles : Expr(tiles_per_task); }

// The quotient, by the reciprocal in units of 2^-30, of which tiles of a task are a power of 2. Divided by them it would be computed
// wherever it is used, a shift has no bounds that Halide infers, and a product of floats takes a vector register.
Expr Blocking::task_of(const Expr &tile) const {
    if (!shared_tiles.defined()) return tile / tiles_per_task;
    const int one = 1 << 30;
    return cast<int32_t>(cast<int64_t>(tile) * cast<int64_t>(clamp(one / shared_tiles, one / tiles_per_task, one)) / one);
}

namespace {

void declare_beside_output(Attention &a) {
    const AttentionInputs &in = a.inputs;
    const int rows = a.blocking.rows_per_tile;
    const bool stored = a.blocking.side_outputs;
    a.lse(token, head, batch) = stored ? Halide::undef<float>() : a.fold.result(token % rows, in.value_dim, token / rows, head, batch);
    if (!in.count_panels) return;
    a.counts = Func("counts");
    Expr count = a.fold.result(0, in.value_dim + 1 + clamp(which, 0, 1), tile, head, batch);
    a.counts(which, tile, head, batch) = stored ? Halide::undef<int32_t>() : cast<int32_t>(count);
}

} // namespace

Attention attention(const AttentionInputs &in, const Blocking &blocking) {
    Attention a;
    a.inputs = in, a.blocking = blocking;
    a.padded_value_dim = Halide::Internal::simplify(divided_up(in.value_dim, blocking.value_step) * blocking.value_step);
    a.ranges = key_ranges(in, blocking);
    a.panels = panels(in, blocking, a.ranges);
    a.operands = operands(in, blocking, a.ranges, a.panels, a.padded_value_dim);
    if (blocking.asks_ahead) a.ahead = memory_ahead(in, blocking, a.ranges, a.panels);
    const BlockParts parts{in, blocking, a.ranges, a.panels, a.operands};
    a.scores = scores(parts, a.ahead);
    a.partial = block_state(parts, a.scores);
    a.fold = fold(in, blocking, a.ranges, a.panels, a.partial, a.padded_value_dim);

    const int rows = blocking.rows_per_tile;
    a.output = Func("attention"), a.lse = Func("log_sum_exp");
    a.output(dim, token, head, batch) =
        as_type(in.output_type, a.fold.result(token % rows, dim, token / rows, head, batch), blocking.rounding);
    declare_beside_output(a);
    return a;
}

} // namespace attune::dsl
