// Masks: predicates over (batch, head, query, key), combined with ! & |. True means "may attend".
//
// A mask also answers for a whole block of queries x keys, from its expression alone, by interval analysis: which keys can be
// attended at all, and whether every cell is. Schedules skip what can't be and evaluate the mask only where it isn't plain.
#pragma once

#include <functional>
#include <vector>

#include <Halide.h>

namespace attune::dsl {

struct CellBlock;

/** One score's place: batch item, query head, query row i, counted from 0 whatever the offset, and key column j. */
struct Cell {
    Halide::Expr batch, head, query, key;
    /** Where it stands for the cells of a block that is analysed: that block, and whether all of them are to be attended, or any. What is
     * known of many queries at once may then join a predicate, which means the same with it. */
    const CellBlock *block = nullptr;
    bool every = false;
};

/** A block of cells of one head: queries and keys, each from `min` to `max`, both ends included. */
struct CellBlock {
    Halide::Expr batch, head;
    Halide::Internal::Interval queries, keys;
};

class Mask {
public:
    /** Any predicate of the user's: `Mask([](Cell c) { return c.key % 4 == 0; })`. */
    Mask(std::function<Halide::Expr(const Cell &)> predicate) : predicate_(std::move(predicate)) {}

    /** Whether the query may attend to the key. */
    Halide::Expr allows(const Cell &cell) const { return predicate_(cell); }

    /** True where every cell of the block may be attended; false where that can't be shown. */
    Halide::Expr allows_all(const CellBlock &block) const;

    /** True where no cell of the block may be attended; false where that can't be shown. */
    Halide::Expr allows_none(const CellBlock &block) const;

    /** The keys that some query of the block may attend: nothing outside this interval need be looked at. An end that can't be
     * bounded comes back as that of `block.keys`. */
    Halide::Internal::Interval possible_keys(const CellBlock &block) const;

    /** The same as one interval or two, which may overlap or be empty: where the mask is a choice (`|`), what its first alternative leaves,
     * and what all others leave. */
    std::vector<Halide::Internal::Interval> possible_key_runs(const CellBlock &block) const;

private:
    std::function<Halide::Expr(const Cell &)> predicate_;
};

Mask operator!(const Mask &a);
Mask operator&(const Mask &a, const Mask &b);
Mask operator|(const Mask &a, const Mask &b);

/** j <= i + offset. `offset` is the key position of query 0: 0 aligns the first query with the first key (top left), M - N the
 * last with the last (bottom right). */
Mask causal(const Halide::Expr &offset);

/** i + offset - left <= j <= i + offset + right, both ends included; a negative `left` or `right` sets no limit on that side
 * (sliding window: Longformer, arXiv 2004.05150, section 3.1). */
Mask window(const Halide::Expr &left, const Halide::Expr &right, const Halide::Expr &offset);

/** j < length, and no more; a prefix language model is `causal(0) | prefix(length)`. */
Mask prefix(const Halide::Expr &length);

/** (i + offset - j) mod step = 0, step >= 1 (dilated sliding window: Longformer, arXiv 2004.05150, section 3.1). */
Mask dilated(const Halide::Expr &step, const Halide::Expr &offset);

/** j mod step < width, 1 <= width <= step: the first keys of every `step` (summary columns: Child et al., arXiv 1904.10509, section 4.3).
 */
Mask strided(const Halide::Expr &step, const Halide::Expr &width);

/** map(j / key_block, i / query_block, head, batch) != 0. `map`: u8; broadcast axes have stride 0. */
Mask blocks(const Halide::Func &map, const Halide::Expr &query_block, const Halide::Expr &key_block);

/** query_documents(i, batch) = key_documents(j, batch): packed sequences, each attending to itself alone. Both i32. */
Mask documents(const Halide::Func &query_documents, const Halide::Func &key_documents);

/** The same, with bounds for analysis: ranges(which, i, batch) is the DocumentRange (dsl/document_ranges.h) of queries that hold those of
 * any block that is asked about and begins with query i. */
Mask documents(const Halide::Func &query_documents, const Halide::Func &key_documents, const Halide::Func &ranges);

/** j < lengths(batch). `lengths`: i32 [batch]. */
Mask key_lengths(const Halide::Func &lengths);

/** tensor(key, query, head, batch) != 0. `tensor`: u8; broadcast axes have stride 0. */
Mask boolean_tensor(const Halide::Func &tensor);

/** bias(key, query, head, batch) is not -inf: what an additive tensor says about who attends. */
Mask finite_bias(const Halide::Func &bias);

/** The run-time family of masks: row i of head h of batch item b may attend key j iff some r has
 * intervals(0, r, i, h, b) <= j < intervals(1, r, i, h, b). Any ! & | of causal, window, prefix, lengths, documents and blocks reduces
 * to it. */
struct KeyIntervals {
    Halide::Func table; // i32 (2, count, query, head, batch); per row sorted, disjoint, within [0, M]; empty ones last, as (M, M)
    Halide::Expr count; // intervals a row, at least 1

    Halide::Expr begin(const Halide::Expr &r, const Cell &row) const;
    Halide::Expr end(const Halide::Expr &r, const Cell &row) const;

    /** Where gap g of a row, from 0 to `count`, begins and ends: between intervals g - 1 and g, the first from 0 on, the last without end.
     */
    Halide::Internal::Interval gap(const Halide::Expr &g, const Cell &row) const;

    /** Whether interval r allows the cell. A row's intervals are disjoint, so that at most one does. */
    Halide::Expr allows(const Halide::Expr &r, const Cell &cell) const;
};

} // namespace attune::dsl
