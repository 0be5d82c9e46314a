// Loops that several schedules write alike.
#pragma once

#include <algorithm>
#include <vector>

#include "dsl/axes.h"
#include "dsl/dropout.h"
#include "dsl/row_chunks.h"

namespace attune::schedules::x86 {

/** An update over `keys`: rows innermost, in vectors of `lanes`. */
inline void rows_innermost(Halide::Func f, int stage, const Halide::RDom &keys, int lanes) {
    std::vector<Halide::VarOrRVar> order = {dsl::axes::row};
    for (int i = 0; i < keys.dimensions(); i++)
        order.emplace_back(keys[i]);
    f.update(stage).reorder(order).vectorize(dsl::axes::row, lanes);
}

/** Rows in groups, so many to each, that go through the stages side by side, and groups in tasks of about so many elements, which are
 * shared among threads; `along` is the axis of a row, of `extent` elements. */
struct RowLoops {
    Halide::Var along, row, group, task;
    Halide::Expr extent;

    Halide::Stage by_tasks(Halide::Stage stage, const Halide::Expr &rows_of_group, const Halide::Expr &elements) const {
        const Halide::Expr groups = max(1, elements / (rows_of_group * extent));
        return stage.split(row, group, row, rows_of_group, Halide::TailStrategy::GuardWithIf)
            .split(group, task, group, groups, Halide::TailStrategy::GuardWithIf)
            .reorder(along, row, group, task)
            .parallel(task);
    }
};

/** What dropout keeps: keys that share a counter one after the other, and so their counter's words made once. */
inline void by_counters(Halide::Func kept, const dsl::Dropout &dropout, int lanes) {
    const Halide::Var counter("counter"), of_counter("of_counter"), in_row("in_row"), &row = dsl::axes::row;
    kept.split(dsl::axes::key, counter, of_counter, dsl::Dropout::keys_of_counter).split(row, row, in_row, lanes);
    kept.reorder(in_row, of_counter, row, counter).vectorize(in_row).unroll(of_counter).specialize(dropout.used());
}

/** The updates of what is summed up by lane, over a row: lanes in vectors of `lanes`, side by side. */
inline void by_chunks(Halide::Func partial, const std::vector<dsl::RowChunk> &chunks, int lanes) {
    for (int i = 0; i < int(chunks.size()); i++)
        partial.update(i).reorder(dsl::axes::lane, chunks[size_t(i)].steps).vectorize(dsl::axes::lane, lanes).unroll(dsl::axes::lane);
}

/** What is made by lane over a row, of four vectors of `lanes`, and its halves down to one lane: where `total` of the row needs them. */
inline void reduce_lanes(Halide::Func partial, const std::vector<dsl::RowChunk> &chunks, const std::vector<Halide::Func> &halves,
                         const Halide::Func &total, const Halide::Var &row, int lanes) {
    const Halide::Var &lane = dsl::axes::lane;
    partial.compute_at(total, row).bound_extent(lane, 4 * lanes).vectorize(lane, lanes).unroll(lane);
    by_chunks(partial, chunks, lanes);
    int left = 4 * lanes;
    for (Halide::Func half : halves) {
        left /= 2;
        half.compute_at(total, row).bound_extent(lane, left).vectorize(lane, std::min(lanes, left)).unroll(lane);
    }
}

} // namespace attune::schedules::x86
