// Which panels of a block a tile computes. Everything that is skipped is skipped here, and nothing that need not be evaluated is:
// bounds decide first, then the intervals of the rows, and only where a tensor or an expression leaves it open are cells counted.
#include "dsl/attention_parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

// What a panel of the tile's rows is known to be before any cell is looked at.
struct Known {
    Expr begin, end;    // keys of the panel
    Expr inside;        // within the tile's range
    Expr all_rows;      // the run-time mask covers it, as bounds show
    Expr compiled_none; // the compiled-in mask allows none of it, or all of it, as its expression shows
    Expr compiled_all;
    Expr tensors; // whether a tensor has a say
};

Known known(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    Known k;
    k.begin = block * blocking.keys_per_block + panel * blocking.keys_per_panel, k.end = k.begin + blocking.keys_per_panel;
    k.inside = k.begin < ranges.end(tile, head, batch) && k.end > ranges.first(tile, head, batch);
    k.all_rows = k.begin >= ranges.full_first(tile, head, batch) && k.end <= ranges.full_end(tile, head, batch);
    k.compiled_none = Halide::Internal::const_false(), k.compiled_all = Halide::Internal::const_true();
    if (in.mask) {
        const CellBlock cells{batch, head, queries_of_tile(in, blocking), {k.begin, k.end - 1}};
        k.compiled_none = in.mask->allows_none(cells), k.compiled_all = in.mask->allows_all(cells);
    }
    k.tensors = in.use_attend != 0 || in.use_bias != 0;
    return k;
}

// Tensors lie with keys side by side, the scores have rows side by side: so small rectangles of keys x rows are turned on the way.
Panels::Turned turned(const std::string &name, const AttentionInputs &in, const Blocking &blocking, const Func &tensor, const Expr &used) {
    const int width = Panels::Turned::width, at_once = Panels::Turned::at_once, step = width * at_once;
    Expr known_keys = min(in.keys - block * blocking.keys_per_block, blocking.keys_per_block);
    Panels::Turned t{Func(name + "_lines"), Func(name + "_rows"),
                     RDom(0, width, 0, at_once, 0, (blocking.keys_per_block + step - 1) / step, name)};
    t.keys.where(t.keys.z < select(used, (known_keys + step - 1) / step, 0));
    Expr rectangle = t.keys.z * at_once + t.keys.y, slot = rectangle * width + t.keys.x;
    t.keys.where(slot < blocking.keys_per_block);
    Halide::Var which("rectangle");
    Expr source = min(block * blocking.keys_per_block + which * width + key, in.keys - 1);
    // Likely: so that only the last tile looks where the queries end.
    Expr query = min(Halide::likely(tile * blocking.rows_per_tile + row), in.queries - 1);
    t.lines(key, row, which, tile, block, head, batch) = tensor(source, query, head, batch);
    t.rows(row, key, tile, block, head, batch) = Halide::undef(t.lines.type());
    t.rows(row, slot, tile, block, head, batch) = t.lines(t.keys.x, row, rectangle, tile, block, head, batch);
    return t;
}

// A row counts 1 where an interval of it reaches into the panel, and `covers` more where one holds all of it.
constexpr int covers = 1 << 16;

void declare_reach(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Known k = known(in, blocking, ranges);
    p.reached_intervals = RDom(0, in.intervals.count, "reached_intervals");
    Expr undecided = k.inside && !k.all_rows && !k.compiled_none;
    p.reached_intervals.where(undecided);
    Expr begin = interval_begin(ranges, row, p.reached_intervals), end = interval_end(ranges, row, p.reached_intervals);
    Expr reaches = begin < k.end && end > k.begin && begin < end, holds = begin <= k.begin && end >= k.end;
    p.reached(row, panel, tile, block, head, batch) = 0;
    p.reached(row, panel, tile, block, head, batch) += select(holds, covers + 1, select(reaches, 1, 0));
    p.reach(panel, tile, block, head, batch) = 0;
    p.reached_rows = RDom(0, blocking.rows_per_tile, "reached_rows");
    p.reached_rows.where(undecided);
    p.reach(panel, tile, block, head, batch) += p.reached(p.reached_rows, panel, tile, block, head, batch);
}

Expr covered(const Panels &p, const Blocking &blocking, const Known &k) {
    return k.all_rows || p.reach(panel, tile, block, head, batch) >= covers * blocking.rows_per_tile;
}

Expr reached(const Panels &p, const Known &k) { return k.all_rows || p.reach(panel, tile, block, head, batch) > 0; }

// Whether cells have to be counted.
Expr is_open(const Panels &p, const Known &k) { return k.inside && !k.compiled_none && reached(p, k) && (k.tensors || !k.compiled_all); }

void declare_cells(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Known k = known(in, blocking, ranges);
    p.cells = RDom(0, blocking.keys_per_panel, 0, in.intervals.count, "cells");
    p.cells.where(is_open(p, k));
    Expr slot = panel * blocking.keys_per_panel + p.cells.x;
    const Cell cell{batch, head, query_of(in, blocking, row), k.begin + p.cells.x};
    // Branches, since what isn't used has no memory, and a masked load from nowhere takes hundreds of cycles.
    Expr attend = branch(in.use_attend != 0, cast<int32_t>(p.attend.rows(row, slot, tile, block, head, batch)), 1) != 0;
    Expr bias = branch(in.use_bias != 0, p.bias.rows(row, slot, tile, block, head, batch), 0.0f);
    Expr allowed = in_interval(ranges, row, p.cells.y, cell.key) && attend && !strict_equal(bias, masked_score());
    if (in.mask) allowed = allowed && in.mask->allows({batch, head, cell.query, min(cell.key, in.keys - 1)});
    p.allowed(row, panel, tile, block, head, batch) = 0;
    p.allowed(row, panel, tile, block, head, batch) += select(allowed, 1, 0);
    p.allowed_cells(panel, tile, block, head, batch) = 0;
    p.allowed_rows = RDom(0, blocking.rows_per_tile, "allowed_rows");
    p.allowed_rows.where(is_open(p, k));
    p.allowed_cells(panel, tile, block, head, batch) += p.allowed(p.allowed_rows, panel, tile, block, head, batch);
}

void declare_kind(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Known k = known(in, blocking, ranges);
    const int cells = blocking.rows_per_tile * blocking.keys_per_panel;
    Expr counted = p.allowed_cells(panel, tile, block, head, batch);
    Expr by_cells = select(counted == 0, int(Panels::empty), counted == cells, int(Panels::full), int(Panels::partial));
    Expr by_rows = select(covered(p, blocking, k), int(Panels::full), int(Panels::partial));
    p.kind(panel, tile, block, head, batch) = select(!k.inside || k.compiled_none || !reached(p, k), int(Panels::empty), //
                                                     is_open(p, k), by_cells, by_rows);
}

// Appends the panels of a kind, and counts them, one after another.
RDom declare_listing(Panels &p, const Blocking &blocking, const KeyRanges &ranges, Panels::Kind kind, const char *name) {
    RDom r(0, 2, 0, blocking.panels_per_block(), name);
    only_keys_of_tile(r, ranges, block * blocking.keys_per_block + r.y * blocking.keys_per_panel, blocking.keys_per_panel);
    r.where(p.kind(r.y, tile, block, head, batch) == int(kind));
    auto at = [&](const Expr &slot) -> Halide::FuncRef { return p.list(slot, tile, block, head, batch); };
    Expr count = at(Panels::listed_count);
    at(select(r.x == 0, Panels::first_listed + clamp(count, 0, blocking.panels_per_block() - 1), int(Panels::listed_count))) =
        select(r.x == 0, r.y, count + 1);
    return r;
}

} // namespace

Expr listed(const Panels &p, Panels::Slot which) { return p.list(int(which), tile, block, head, batch); }

Expr listed_panel(const Blocking &blocking, const Panels &p, const Expr &slot) {
    // The list holds panels of the block, which bounds can't see.
    return clamp(p.list(Panels::first_listed + slot, tile, block, head, batch), 0, blocking.panels_per_block() - 1);
}

RDom listed_keys(const Blocking &blocking, const Panels &p, Panels::Slot which, const std::string &name, const Expr &used, int per) {
    RDom r(0, blocking.keys_per_panel / per, 0, blocking.panels_per_block(), name);
    // One bound, not two conditions: so that the loop over slots is empty where nothing is used, and has no condition inside.
    r.where(r.y < select(used, listed(p, which), 0));
    return r;
}

Panels panels(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    Panels p;
    p.reached = Func("reached"), p.reach = Func("reach");
    p.allowed = Func("allowed"), p.allowed_cells = Func("allowed_cells"), p.kind = Func("panel_kind"), p.list = Func("panel_list");
    p.attend = turned("attend", in, blocking, in.attend, in.use_attend != 0);
    p.bias = turned("bias", in, blocking, in.bias, in.use_bias != 0);
    declare_reach(p, in, blocking, ranges);
    declare_cells(p, in, blocking, ranges);
    declare_kind(p, in, blocking, ranges);

    Halide::Var slot("slot");
    auto at = [&](const Expr &s) -> Halide::FuncRef { return p.list(s, tile, block, head, batch); };
    at(slot) = 0;
    p.partial_panels = declare_listing(p, blocking, ranges, Panels::partial, "partial_panels");
    at(int(Panels::partial_count)) = at(int(Panels::listed_count));
    p.full_panels = declare_listing(p, blocking, ranges, Panels::full, "full_panels");
    return p;
}

} // namespace attune::dsl
