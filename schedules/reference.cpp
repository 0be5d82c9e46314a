// The reference schedules: stage by stage, each computed whole, in memory, in the loop order of its declaration. What merely picks, widens
// or turns an element is no stage.
#include "schedules/schedules.h"

#include "dsl/axes.h"

namespace attune::schedules {

namespace {

void compute_all_at_root(std::initializer_list<Halide::Func> funcs) {
    for (Halide::Func f : funcs)
        f.compute_root();
}

} // namespace

// Small blocks, so that even small inputs have several of everything.
dsl::Blocking reference_blocking(const Machine &, int, const Halide::Expr &) {
    dsl::Blocking blocking;
    blocking.rows_per_tile = 4;
    blocking.tiles_per_task = 2;
    blocking.keys_per_block = 16;
    blocking.keys_per_panel = 4;
    return blocking;
}

void reference_attention(const dsl::Attention &a, const Machine &) {
    const dsl::KeyRanges &r = a.ranges;
    const dsl::Panels &p = a.panels;
    compute_all_at_root({r.gap, r.gap_range, r.of_tile, r.of_task});
    compute_all_at_root({p.attend.words, p.bias.rows, p.facts, p.reach, p.joined, p.allowed_cells, p.kind, p.list});
    compute_all_at_root({a.operands.query, a.operands.key, a.operands.value, a.operands.value_lane, a.operands.value_bits});
    compute_all_at_root({a.scores.dot, a.scores.relative_window, a.scores.masked});
    compute_all_at_root(
        {a.partial.lane_maximum, a.partial.maximum, a.partial.weight, a.partial.lane_sum, a.partial.sum, a.partial.kept, a.partial.output});
    compute_all_at_root({a.fold.state, a.fold.starved, a.fold.attends, a.fold.closing, a.fold.result});
}

dsl::SimtBlocking reference_simt_blocking(const Machine &, int head_dim, const Halide::Expr &) {
    dsl::SimtBlocking shape;
    shape.rows = 8, shape.keys = 16, shape.parts = 4, shape.dims = 8, shape.values = 4;
    shape.channels = head_dim != 0 ? (head_dim + 15) / 16 * 16 : 256;
    return shape;
}

void reference_simt(const dsl::SimtAttention &t, const Machine &) {
    compute_all_at_root({t.item, t.slope, t.query, t.key, t.value, t.dot, t.score, t.part_maximum, t.maximum, t.weight, t.part_sum});
    compute_all_at_root({t.output, t.bits, t.careful, t.state, t.shared, t.total, t.attends, t.closing});
}

void reference_weights(const dsl::AttentionWeights &w, const Machine &) {
    compute_all_at_root({w.query, w.dot, w.score, w.allowed, w.biased, w.asked, w.maximum, w.part_sum, w.sum, w.joined});
}

dsl::RotaryShape reference_rotary_shape(const Machine &) { return {}; }

dsl::NormShape reference_norm_shape(const Machine &) { return {}; }

dsl::SoftmaxShape reference_softmax_shape(const Machine &, const dsl::SoftmaxInputs &) {
    dsl::SoftmaxShape shape;
    shape.sums = Halide::Float(64);
    return shape;
}

void reference_softmax(const dsl::Softmax &s, const Machine &) {
    compute_all_at_root({s.score, s.lane_maximum, s.maximum, s.weight, s.lane_sum, s.sum, s.finish});
    if (s.reduced.defined()) compute_all_at_root({s.reduced});
}

void reference_rotary(const dsl::Rotary &r, const Machine &) {
    for (const dsl::RotaryTurn &t : r.turns)
        compute_all_at_root({t.turned});
}

void reference_rotary_table(const dsl::RotaryTable &t, const Machine &) {
    compute_all_at_root({t.frequencies.shared, t.frequencies.turns_per_token, t.frequencies.magnitude, t.stream});
}

dsl::LinearBlocking reference_linear_blocking(const Machine &) { return {}; }

void reference_linear(const dsl::Linear &l, const Machine &) { compute_all_at_root({l.operand, l.terms, l.dot, l.sum, l.activated}); }

void reference_merge(const dsl::Merge &m, const Machine &) { compute_all_at_root({m.factors}); }

void reference_norm(const dsl::Norm &n, const Machine &) {
    compute_all_at_root({n.lane_squares, n.squares, n.statistics});
    if (n.kind == dsl::NormKind::layer) compute_all_at_root({n.lane_sum, n.sum, n.mean});
    if (n.deviations.defined()) compute_all_at_root({n.deviations});
}

void reference_slopes(const dsl::AlibiSlopes &, const Machine &) {}

void reference_relative_bias(const dsl::RelativeBias &r, const Machine &) { compute_all_at_root({r.bucket}); }

void reference_sinusoidal(const dsl::Sinusoidal &s, const Machine &) { compute_all_at_root({s.turns_per_token}); }

// One Func, whose loops are as declared already.
void reference_add_positions(const dsl::AddPositions &, const Machine &) {}

} // namespace attune::schedules
