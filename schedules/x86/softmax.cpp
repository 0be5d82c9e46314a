// Softmax for x86: a few rows at a time, in vectors along them, or a few vectors of columns at a time.
#include <algorithm>

#include "dsl/axes.h"
#include "schedules/schedules.h"
#include "schedules/x86/loops.h"
#include "schedules/x86/sixteen_bits.h"
#include "schedules/x86/stream_stores.h"

namespace attune::schedules::x86 {

using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int elements_per_task = 16384;

// Rows that go through the stages side by side. In vectors of 16 no more than what lets one begin while another ends, if these are whole
// lines: on Granite Rapids rows of 64 and 128 numbers take 0.81 and 0.84 of the time from memory so, and 0.92 to 0.94 in the caches, but
// groups that end within a line 1.05 to 1.17. (On AMD's CPUs it wasn't measured.)
Halide::Expr rows_together(const Machine &machine, const Halide::Expr &extent) {
    constexpr int least_rows = 4, least_elements = 512, elements_of_line = 32; // of 16 bits, and of two lines of f32
    const Halide::Expr row = max(1, extent), most = max(1, most_streamed_together / row);
    if (machine.float_lanes < 16) return most;
    const Halide::Expr few = (max(least_rows, least_elements / row) + least_rows - 1) / least_rows * least_rows;
    return select(few < most && few * row % elements_of_line == 0, few, most);
}

// Whether the next rows are asked for into the first-level cache: where few rows that are short go side by side. On Granite Rapids, from
// memory, rows of 32 to 160 numbers take 0.82 to 0.9 of the time so, of 200 0.93; of 256, four of which are a page, 1.27.
Halide::Expr asks_near(const Machine &machine, const Halide::Expr &extent) {
    constexpr int longest = 200;
    if (machine.float_lanes < 16) return Halide::Internal::const_false();
    return extent <= longest && rows_together(machine, extent) * extent < most_streamed_together / 2;
}

void specialize(Func result, const dsl::Softmax &softmax) {
    for (const Halide::Expr &condition : softmax.special)
        result.specialize(condition);
}

} // namespace

// Four vectors of partial results side by side: a maximum or sum takes four cycles, and two can start in each. They are halved at the end
// of a row: added up one after the other, 64 lanes take as long as the exponentials of 128 elements.
dsl::SoftmaxShape softmax_shape(const Machine &machine, int, const Halide::Expr &extent) {
    return {4 * machine.float_lanes, 1, machine.float_lanes, rows_together(machine, extent), asks_near(machine, extent), rounding(machine)};
}

// A task is some thousand elements, of one row or of many. Rows that fit together go through the stages side by side, so that one begins
// while another ends.
void vectorized_softmax(const dsl::Softmax &s, const Machine &machine) {
    const int lanes = machine.float_lanes, stored = stored_lanes(machine, s.result.type());
    const Var lane = dsl::axes::lane;
    Func result = s.result, weight = s.weight, finish = s.finish, maximum = s.maximum, sum = s.sum;
    const Var i = result.args()[1], row = result.args()[2], task("task"), group("group");
    const Halide::Expr rows = rows_together(machine, s.extent), groups_per_task = max(1, elements_per_task / (rows * s.extent));
    result.split(row, group, row, rows, TailStrategy::GuardWithIf)
        .split(group, task, group, groups_per_task, TailStrategy::GuardWithIf)
        .reorder(i, row, group, task)
        .parallel(task);
    // In place nothing is read for the sake of the stores, and streaming, which copies once more, gains nothing.
    const Halide::Expr streams = s.special.front() && !s.in_place && is_streamed(result);
    if (s.kind != dsl::SoftmaxKind::log_sum_exp) {
        stream_runs(result.specialize(streams && s.extent >= most_streamed_together), i, stored, result.type());
        // A group of short rows goes as one. By vectors of 4, or of 8 in 16 bits, their exponentials take longer than memory, and where
        // rows lie apart, each would have to go by itself: then streaming takes longer than it saves.
        if (machine.float_lanes == 16 || (machine.float_lanes == 8 && result.type().bits() == 32)) {
            Halide::Stage short_rows =
                result.specialize(streams && s.extent < most_streamed_together && result.output_buffer().dim(2).stride() == s.extent);
            stream_rows(short_rows, row);
            short_rows.vectorize(i, stored, TailStrategy::GuardWithIf);
        }
    }
    result.vectorize(i, stored, TailStrategy::GuardWithIf);
    for (Func f : {maximum, sum, finish})
        f.compute_at(result, group).hoist_storage(result, task).bound_storage(row, most_streamed_together); // on the stack
    if (s.kind == dsl::SoftmaxKind::softmax) {
        weight.compute_at(result, group).hoist_storage(result, task);
        // Four vectors' operations in turns, as a vector that is wider than a register: an exponential is a chain of operations, and of the
        // stores between them LLVM keeps the order. In rows that these fill, or of which the last one repeats little.
        const int wide = 4 * lanes;
        weight.specialize(s.extent >= 4 * wide || (s.extent % wide == 0 && s.extent > 0)).vectorize(i, wide, TailStrategy::ShiftInwards);
        weight.specialize(s.extent >= lanes).vectorize(i, lanes, TailStrategy::ShiftInwards);
        weight.vectorize(i, lanes, TailStrategy::GuardWithIf);
    }
    const auto reduce = [&](Func partial, const std::vector<Func> &halves, const Func &total) {
        partial.compute_at(total, row).bound_extent(lane, 4 * lanes).vectorize(lane, lanes).unroll(lane);
        by_chunks(partial, s.chunks, lanes);
        int left = 4 * lanes;
        for (Func half : halves) {
            left /= 2;
            half.compute_at(total, row).bound_extent(lane, left).vectorize(lane, std::min(lanes, left)).unroll(lane);
        }
    };
    reduce(s.lane_maximum, s.maxima, maximum);
    reduce(s.lane_sum, s.sums, sum);
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
        partial.update().reorder(column, dsl::axes::lane, s.chunks.front().steps).vectorize(column, lanes, TailStrategy::GuardWithIf);
    }
    finish.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
    for (Func total : {s.maximum, s.sum}) {
        total.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
        total.update().reorder(column, s.lanes).vectorize(column, lanes, TailStrategy::GuardWithIf);
    }
    specialize(result, s);
}

} // namespace attune::schedules::x86
