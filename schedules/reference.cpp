// The reference schedules: every Func computed whole, in memory, in the loop order of its declaration.
#include "schedules/schedules.h"

#include "dsl/axes.h"

namespace attune::schedules {

namespace {

void compute_all_at_root(std::initializer_list<Halide::Func> funcs) {
    for (Halide::Func f : funcs)
        f.compute_root();
}

} // namespace

int no_shape(const Machine &, int, const Halide::Expr &) { return 1; }

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
    compute_all_at_root({a.ranges.gap_begin, a.ranges.gap_end, a.ranges.first, a.ranges.end, a.ranges.full_first, a.ranges.full_end,
                         a.ranges.task_first, a.ranges.task_end});
    compute_all_at_root({a.operands.query, a.operands.key, a.operands.value, a.operands.value_lane, a.operands.value_bits});
    compute_all_at_root({a.scores.dot, a.scores.masked});
    compute_all_at_root({a.partial.lane_maximum, a.partial.maximum, a.partial.weight, a.partial.lane_sum, a.partial.sum, a.partial.output});
    compute_all_at_root({a.fold.state, a.fold.starved, a.fold.attends, a.fold.result});
}

void reference_weights(const dsl::AttentionWeights &w, const Machine &) {
    compute_all_at_root({w.query, w.dot, w.score, w.allowed, w.weight, w.sum});
}

void reference_softmax(const dsl::Softmax &s, const Machine &) {
    compute_all_at_root({s.lane_maximum, s.maximum, s.weight, s.lane_sum, s.sum});
}

void reference_rotary(const dsl::Rotary &r, const Machine &) { compute_all_at_root({r.turns_per_token, r.cosine, r.sine, r.result}); }

void reference_sinusoidal(const dsl::Sinusoidal &s, const Machine &) { compute_all_at_root({s.turns_per_token}); }

} // namespace attune::schedules
