// Which keys may have to be looked at: bounds, for a tile and for a task.
#include "dsl/attention_parts.h"
#include "dsl/axes.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Internal::Interval;

Expr query_of(const AttentionInputs &in, const Blocking &blocking, const Expr &r) {
    return min(tile * blocking.rows_per_tile + r, in.queries - 1);
}

Interval queries_of_tile(const AttentionInputs &in, const Blocking &blocking) {
    Expr first = tile * blocking.rows_per_tile;
    return {first, min(first + blocking.rows_per_tile, in.queries) - 1};
}

void only_keys_of_tile(RDom &domain, const KeyRanges &ranges, const Expr &begin, const Expr &count) {
    domain.where(begin < ranges.end(tile, head, batch));
    domain.where(begin + count > ranges.first(tile, head, batch));
}

void only_keys_of_task(RDom &domain, const KeyRanges &ranges, const Expr &begin, const Expr &count) {
    domain.where(begin < ranges.task_end(task, head, batch));
    domain.where(begin + count > ranges.task_first(task, head, batch));
}

Expr interval_begin(const KeyRanges &ranges, const Expr &r, const Expr &interval) { return ranges.gap_end(r, interval, tile, head, batch); }

Expr interval_end(const KeyRanges &ranges, const Expr &r, const Expr &interval) {
    return ranges.gap_begin(r, interval + 1, tile, head, batch);
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

// Gap g of a row lies between its intervals g - 1 and g; the first starts at 0, the last has no end.
void declare_gaps(KeyRanges &k, const AttentionInputs &in, const Blocking &blocking) {
    const KeyIntervals &intervals = in.intervals;
    Halide::Var gap("gap");
    const Cell any{batch, head, query_of(in, blocking, row), Expr()};
    const int far = 0x7fffffff;
    k.gap_begin(row, gap, tile, head, batch) = select(gap == 0, 0, intervals.end(max(gap - 1, 0), any));
    k.gap_end(row, gap, tile, head, batch) = select(gap == intervals.count, far, intervals.begin(min(gap, intervals.count - 1), any));
    k.gap_first(gap, tile, head, batch) = far;
    k.gap_first(gap, tile, head, batch) = min(k.gap_first(gap, tile, head, batch), k.gap_begin(k.rows, gap, tile, head, batch));
    k.gap_last(gap, tile, head, batch) = 0;
    k.gap_last(gap, tile, head, batch) = max(k.gap_last(gap, tile, head, batch), k.gap_end(k.rows, gap, tile, head, batch));
}

} // namespace

KeyRanges key_ranges(const AttentionInputs &in, const Blocking &blocking) {
    KeyRanges k{Func("gap_begin"),
                Func("gap_end"),
                Func("gap_first"),
                Func("gap_last"),
                Func("first"),
                Func("end"),
                Func("full_first"),
                Func("full_end"),
                Func("task_first"),
                Func("task_end"),
                RDom(0, blocking.rows_per_tile, "rows"),
                RDom(0, blocking.rows_per_tile, 0, in.intervals.count, "gaps"),
                RDom(0, blocking.tiles_per_task, "tiles")};
    declare_gaps(k, in, blocking);

    const Interval compiled = compiled_keys(in, blocking);
    auto begin_of = [&](const Expr &r, const Expr &interval) { return interval_begin(k, r, interval); };
    auto end_of = [&](const Expr &r, const Expr &interval) { return interval_end(k, r, interval); };
    Expr begin = begin_of(k.gaps.x, k.gaps.y), end = end_of(k.gaps.x, k.gaps.y);
    k.first(tile, head, batch) = in.keys;
    k.first(tile, head, batch) = min(k.first(tile, head, batch), max(begin_of(k.rows, 0), compiled.min));
    k.end(tile, head, batch) = 0;
    k.end(tile, head, batch) = max(k.end(tile, head, batch), min(select(begin < end, end, 0), compiled.max + 1));

    // With several intervals a row, no panel is taken for granted.
    k.full_first(tile, head, batch) = select(in.intervals.count == 1, 0, Halide::Int(32).max());
    k.full_first(tile, head, batch) = max(k.full_first(tile, head, batch), begin_of(k.rows, 0));
    k.full_end(tile, head, batch) = in.keys;
    k.full_end(tile, head, batch) = min(k.full_end(tile, head, batch), end_of(k.rows, 0));

    Expr each = task * blocking.tiles_per_task + k.tiles;
    k.tiles.where(each * blocking.rows_per_tile < in.queries);
    k.task_first(task, head, batch) = in.keys;
    k.task_first(task, head, batch) = min(k.task_first(task, head, batch), k.first(each, head, batch));
    k.task_end(task, head, batch) = 0;
    k.task_end(task, head, batch) = max(k.task_end(task, head, batch), k.end(each, head, batch));
    return k;
}

} // namespace attune::dsl
