// Softmax for x86: a row at a time, in vectors along it, or a few vectors of columns at a time.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

void specialize(Func result, const dsl::Softmax &softmax) {
    for (const Halide::Expr &condition : softmax.special)
        result.specialize(condition);
}

} // namespace

// Four vectors of partial results side by side: a maximum or sum takes four cycles, and two can start in each.
int softmax_lanes(const Machine &machine, int, const Halide::Expr &) { return 4 * machine.float_lanes; }

// A task is some thousand elements, of one row or of many.
void vectorized_softmax(const dsl::Softmax &s, const Machine &machine) {
    const int lanes = machine.float_lanes, elements_per_task = 8192;
    Func result = s.result, weight = s.weight, finish = s.finish;
    const Var i = result.args()[1], row = result.args()[2], task("task");
    const Halide::Expr chunks = s.chunks.x.extent(), rows_per_task = max(1, elements_per_task / (4 * lanes * chunks));
    result.split(row, task, row, rows_per_task, TailStrategy::GuardWithIf).vectorize(i, lanes, TailStrategy::GuardWithIf).parallel(task);
    if (s.kind == dsl::SoftmaxKind::softmax)
        weight.compute_at(result, row).hoist_storage(result, task).vectorize(i, lanes, TailStrategy::GuardWithIf);
    for (Func partial : {s.lane_maximum, s.lane_sum}) {
        partial.compute_at(result, row).bound_extent(dsl::axes::lane, 4 * lanes).vectorize(dsl::axes::lane, lanes).unroll(dsl::axes::lane);
        partial.update().reorder(dsl::axes::lane, s.chunks).vectorize(dsl::axes::lane, lanes).unroll(dsl::axes::lane);
    }
    for (Func total : {s.maximum, s.sum}) {
        total.compute_at(result, row);
        total.update().atomic().vectorize(s.lanes, 4 * lanes);
    }
    finish.compute_at(result, row);
    specialize(result, s);
}

// Of each row of a block of columns, 256 bytes are read: whole cache lines that lie together. No tail is shifted inwards: y may be x, and
// what is written mustn't be read again.
void vectorized_softmax_columns(const dsl::Softmax &s, const Machine &machine) {
    const int lanes = machine.float_lanes;
    Func result = s.result, weight = s.weight, finish = s.finish;
    const Var column = result.args()[0], i = result.args()[1], row = result.args()[2], block("block"), task("task");
    result.split(column, block, column, 64, TailStrategy::GuardWithIf)
        .reorder(column, i, block, row)
        .fuse(block, row, task)
        .vectorize(column, lanes)
        .parallel(task);
    if (s.kind == dsl::SoftmaxKind::softmax) weight.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
    for (Func partial : {s.lane_maximum, s.lane_sum}) {
        partial.compute_at(result, task).bound_extent(dsl::axes::lane, 1).vectorize(column, lanes, TailStrategy::GuardWithIf);
        partial.update().reorder(column, dsl::axes::lane, s.chunks).vectorize(column, lanes, TailStrategy::GuardWithIf);
    }
    finish.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
    for (Func total : {s.maximum, s.sum}) {
        total.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
        total.update().reorder(column, s.lanes).vectorize(column, lanes, TailStrategy::GuardWithIf);
    }
    specialize(result, s);
}

} // namespace attune::schedules::x86
