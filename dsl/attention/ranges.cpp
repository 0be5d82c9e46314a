// Which keys may have to be looked at: bounds, for a tile and for a task.
#include "dsl/attention/parts.h"
#include "dsl/axes.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Tuple;
using Halide::Internal::Interval;

Expr query_of(const AttentionInputs &in, const Blocking &blocking, const Expr &r) {
    return min(tile * blocking.rows_per_tile + r, in.queries - 1);
}

Expr has_keys_in(const Blocking &blocking, const Halide::FuncRef &range, const Expr &of_block) {
    return of_block * blocking.keys_per_block < range[KeyRanges::end] &&
           (of_block + 1) * blocking.panels_per_block() > range[KeyRanges::first] / blocking.keys_per_panel;
}

Interval queries_of_tile(const AttentionInputs &in, const Blocking &blocking) {
    Expr first = tile * blocking.rows_per_tile;
    return {first, min(first + blocking.rows_per_tile, in.queries) - 1};
}

Expr is_of_task(const KeyRanges &ranges, const Expr &begin, const Expr &count, KeyRanges::Bound end) {
    const auto range = ranges.of_task(task, head, batch);
    return begin < range[end] && begin + count > range[KeyRanges::first];
}

void only_keys_of_tile(RDom &domain, const KeyRanges &ranges, const Expr &begin, const Expr &count) {
    domain.where(begin < ranges.of_tile(tile, head, batch)[KeyRanges::end]);
    domain.where(begin + count > ranges.of_tile(tile, head, batch)[KeyRanges::first]);
}

void only_keys_of_task(RDom &domain, const KeyRanges &ranges, const Expr &begin, const Expr &count, KeyRanges::Bound end) {
    domain.where(is_of_task(ranges, begin, count, end));
}

Expr first_panel_key(const Blocking &blocking, const KeyRanges &ranges) {
    const int depth = blocking.products.depth(); // of values, which are packed
    return ranges.of_tile(tile, head, batch)[KeyRanges::first] % blocking.keys_per_panel / depth * depth;
}

Expr panel_key(const Blocking &blocking, const KeyRanges &ranges, const Expr &panel) {
    return panel * blocking.keys_per_panel + first_panel_key(blocking, ranges);
}

Expr interval_begin(const KeyRanges &ranges, const Expr &r, const Expr &interval) {
    return ranges.gap(r, interval, tile, head, batch)[KeyRanges::end];
}

Expr interval_end(const KeyRanges &ranges, const Expr &r, const Expr &interval) {
    return ranges.gap(r, interval + 1, tile, head, batch)[KeyRanges::first];
}

Expr in_interval(const KeyRanges &ranges, const Expr &r, const Expr &interval, const Expr &position) {
    return interval_begin(ranges, r, interval) <= position && position < interval_end(ranges, r, interval);
}

namespace {

// A compiled-in mask's bounds for the tile; all keys where there is none.
Interval compiled_keys(const AttentionInputs &in, const Blocking &blocking) {
    const Interval all(Expr(0), in.keys - 1);
    return in.mask ? in.mask->possible_keys({batch, head, queries_of_tile(in, blocking), all}) : all;
}

void declare_gaps(KeyRanges &k, const AttentionInputs &in, const Blocking &blocking) {
    Halide::Var gap("gap");
    const Halide::Internal::Interval of_row_alone = in.intervals.gap(gap, {batch, head, query_of(in, blocking, row), Expr()});
    k.gap(row, gap, tile, head, batch) = Tuple(of_row_alone.min, of_row_alone.max);
    auto over_rows = [&]() -> Halide::FuncRef { return k.gap_range(gap, tile, head, batch); };
    auto of_row = k.gap(k.rows, gap, tile, head, batch);
    over_rows() = Tuple(Halide::Int(32).max(), 0);
    over_rows() =
        Tuple(min(over_rows()[KeyRanges::first], of_row[KeyRanges::first]), max(over_rows()[KeyRanges::end], of_row[KeyRanges::end]));
}

void declare_of_task(KeyRanges &k, const AttentionInputs &in, const Blocking &blocking) {
    const int panel = blocking.keys_per_panel, depth = blocking.products.depth();
    const Expr each = task * blocking.tiles_of_task() + k.tiles;
    k.tiles.where(each * blocking.rows_per_tile < in.queries);
    // Of several values that are read of a tile Halide doesn't see that the condition bounds them all.
    const auto of_tile = k.of_tile(min(each, (in.queries - 1) / blocking.rows_per_tile), head, batch);
    const Expr first = of_tile[KeyRanges::first], end = of_tile[KeyRanges::end];
    // The tile's panels: see first_panel_key().
    const Expr begin = first / depth * depth, panels_end = begin + divided_up(end - begin, panel) * panel;
    const Expr none = begin >= end, past_keys = !none && panels_end > in.keys;
    const auto of_task = [&]() -> Halide::FuncRef { return k.of_task(task, head, batch); };
    of_task() = Tuple(in.keys, 0, 0, in.keys);
    of_task() = Tuple(min(of_task()[KeyRanges::first], first), max(of_task()[KeyRanges::end], end),
                      max(of_task()[KeyRanges::panels_end], select(none, 0, panels_end)),
                      min(of_task()[KeyRanges::first_past_keys], select(past_keys, panels_end - panel, in.keys)));
}

} // namespace

KeyRanges key_ranges(const AttentionInputs &in, const Blocking &blocking) {
    KeyRanges k{Func("gap"),
                Func("gap_range"),
                Func("range_of_tile"),
                Func("range_of_task"),
                RDom(0, blocking.rows_per_tile, "rows"),
                RDom(0, blocking.rows_per_tile, 0, in.intervals.count, "gaps"),
                RDom(0, blocking.tiles_of_task(), "tiles")};
    declare_gaps(k, in, blocking);

    const Interval compiled = compiled_keys(in, blocking);
    Expr begin = interval_begin(k, k.gaps.x, k.gaps.y), end = interval_end(k, k.gaps.x, k.gaps.y);
    auto of_tile = [&]() -> Halide::FuncRef { return k.of_tile(tile, head, batch); };
    auto kept = [&](KeyRanges::Bound which) -> Expr { return of_tile()[which]; };
    // A row's first interval begins first. With several, no panel is taken for granted.
    of_tile() = Tuple(in.keys, 0, select(in.intervals.count == 1, 0, Halide::Int(32).max()), in.keys);
    of_tile() = Tuple(min(kept(KeyRanges::first), max(interval_begin(k, k.gaps.x, 0), compiled.min)),
                      max(kept(KeyRanges::end), min(select(begin < end, end, 0), compiled.max + 1)), //
                      max(kept(KeyRanges::full_first), begin), min(kept(KeyRanges::full_end), end));

    declare_of_task(k, in, blocking);
    return k;
}

} // namespace attune::dsl
