// Whose the rows of a head are, in declarations whose keys may be split.
#pragma once

#include "dsl/axes.h"
#include "dsl/mask.h"

namespace attune::dsl {

/** The rows of `head`: the queries of a query head, or split, the (query, query head) pairs of a key/value head. */
struct RowsOfHead {
    Halide::Expr all_queries, heads_per_group;
    bool split = false;

    Halide::Expr count() const { return split ? all_queries * heads_per_group : all_queries; }
    Halide::Expr query_of(const Halide::Expr &row) const { return split ? group_of(row) : row; }
    Halide::Expr head_of(const Halide::Expr &row) const {
        return split ? axes::head * heads_per_group + in_group(row) : Halide::Expr(axes::head);
    }
    Halide::Expr kv_head() const { return split ? Halide::Expr(axes::head) : axes::head / heads_per_group; }
    Cell cell(const Halide::Expr &row, const Halide::Expr &key) const { return {axes::batch, head_of(row), query_of(row), key}; }
    Halide::Internal::Interval queries(const Halide::Expr &first, const Halide::Expr &last) const {
        return {query_of(first), query_of(last)};
    }

    // Unsigned: a GPU divides these in fewer instructions.
    Halide::Expr group_of(const Halide::Expr &x) const {
        using Halide::cast;
        return unsafe_promise_clamped(cast<int32_t>(cast<uint32_t>(x) / cast<uint32_t>(heads_per_group)), 0, x);
    }
    Halide::Expr in_group(const Halide::Expr &x) const {
        using Halide::cast;
        const Halide::Expr nth = cast<int32_t>(cast<uint32_t>(x) % cast<uint32_t>(heads_per_group));
        return unsafe_promise_clamped(nth, 0, heads_per_group - 1);
    }
};

/** Where the merge of chunks finds the states of a query head's token: in the states of its key/value head. */
struct RowInChunks {
    Halide::Expr row, kv_head; // of the tile; kv head
    Halide::Expr first_tile;   // of its row's tiles, one a chunk
};

/** For rows that are split, in tiles of `tile_rows`. What is asked of the states must be seen to be no more than there is of them. */
inline RowInChunks row_in_chunks(const RowsOfHead &rows, int tile_rows, const Halide::Expr &chunks, const Halide::Expr &heads) {
    const Halide::Expr row = axes::token * rows.heads_per_group + rows.in_group(axes::head);
    return {unsafe_promise_clamped(row % tile_rows, 0, min(rows.count(), tile_rows) - 1),
            unsafe_promise_clamped(rows.group_of(axes::head), 0, heads / rows.heads_per_group - 1), row / tile_rows * chunks};
}

} // namespace attune::dsl
