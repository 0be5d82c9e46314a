// Which keys are looked at. Everything that is skipped is skipped here.
#include "dsl/attention_parts.h"
#include "dsl/axes.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

Expr query_of(const AttentionInputs &in, const Blocking &blocking, const Expr &r) {
    return min(tile * blocking.rows_per_tile + r, in.queries - 1);
}

void only_keys_of_tile(RDom &domain, const KeyRanges &ranges, const Expr &begin, const Expr &count) {
    domain.where(begin < ranges.end(tile, head, batch));
    domain.where(begin + count > ranges.first(tile, head, batch));
}

void only_keys_of_task(RDom &domain, const KeyRanges &ranges, const Expr &begin, const Expr &count) {
    domain.where(begin < ranges.task_end(task, head, batch));
    domain.where(begin + count > ranges.task_first(task, head, batch));
}

namespace {

// A compiled-in mask's bounds for the tile; all keys where there is none.
Halide::Internal::Interval compiled_keys(const AttentionInputs &in, const Blocking &blocking) {
    const Halide::Internal::Interval all(Expr(0), in.keys - 1);
    if (!in.mask) return all;
    Expr first = tile * blocking.rows_per_tile, last = min(first + blocking.rows_per_tile, in.queries) - 1;
    return in.mask->possible_keys({batch, head, {first, last}, all});
}

} // namespace

KeyRanges key_ranges(const AttentionInputs &in, const Blocking &blocking) {
    KeyRanges k{Func("gap_begin"),
                Func("gap_end"),
                Func("first"),
                Func("end"),
                Func("full_first"),
                Func("full_end"),
                Func("task_first"),
                Func("task_end"),
                RDom(0, blocking.rows_per_tile, "rows"),
                RDom(0, blocking.rows_per_tile, 0, in.intervals.count, "gaps"),
                RDom(0, blocking.tiles_per_task, "tiles")};
    const KeyIntervals &intervals = in.intervals;
    Halide::Var gap("gap");

    // Gap g of a row lies between its intervals g - 1 and g; the first starts at 0, the last has no end.
    Expr query = query_of(in, blocking, row);
    k.gap_begin(row, gap, tile, batch) = select(gap == 0, 0, intervals.end(max(gap - 1, 0), query, batch));
    k.gap_end(row, gap, tile, batch) =
        select(gap == intervals.count, Halide::Int(32).max(), intervals.begin(min(gap, intervals.count - 1), query, batch));

    const Halide::Internal::Interval compiled = compiled_keys(in, blocking);
    Expr any_row = query_of(in, blocking, k.rows), gap_row = query_of(in, blocking, k.gaps.x);
    Expr begin = intervals.begin(k.gaps.y, gap_row, batch), end = intervals.end(k.gaps.y, gap_row, batch);
    k.first(tile, head, batch) = in.keys;
    k.first(tile, head, batch) = min(k.first(tile, head, batch), max(intervals.begin(0, any_row, batch), compiled.min));
    k.end(tile, head, batch) = 0;
    k.end(tile, head, batch) = max(k.end(tile, head, batch), min(select(begin < end, end, 0), compiled.max + 1));

    // With several intervals a row, no panel is taken for granted.
    k.full_first(tile, head, batch) = select(intervals.count == 1, 0, Halide::Int(32).max());
    k.full_first(tile, head, batch) = max(k.full_first(tile, head, batch), intervals.begin(0, any_row, batch));
    k.full_end(tile, head, batch) = in.keys;
    k.full_end(tile, head, batch) = min(k.full_end(tile, head, batch), intervals.end(0, any_row, batch));

    Expr each = task * blocking.tiles_per_task + k.tiles;
    k.tiles.where(each * blocking.rows_per_tile < in.queries);
    k.task_first(task, head, batch) = in.keys;
    k.task_first(task, head, batch) = min(k.task_first(task, head, batch), k.first(each, head, batch));
    k.task_end(task, head, batch) = 0;
    k.task_end(task, head, batch) = max(k.task_end(task, head, batch), k.end(each, head, batch));
    return k;
}

} // namespace attune::dsl
