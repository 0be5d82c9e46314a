// Which panels of a block a tile computes. Everything that is skipped is skipped here, and nothing that need not be evaluated is:
// bounds decide first, then the intervals of the rows, and only where a tensor or an expression leaves it open are cells counted.
#include <algorithm>
#include <numeric>

#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Tuple;
using Halide::Internal::Interval;

namespace {

// What is known of a panel, for the tile's rows, before any cell is looked at.
struct Known {
    Expr begin, end;   // keys of the panel
    Expr possible;     // within the tile's range, and the compiled-in mask's expression doesn't show that it allows none of it
    Expr first, rest;  // the same for the tile's first rows alone, and for the others
    Expr all_rows;     // the run-time mask covers it, as bounds show
    Expr compiled_all; // the compiled-in mask allows all of it, as its expression shows
    Expr tensors;      // whether a tensor has a say
    Expr words;        // whether the boolean tensor alone decides, of all rows: then its words do
};

enum Fact { first = 1, rest = 2, all_rows = 4, compiled_all = 8, whole_block = 16 };

Expr first_key_of_panel(const Blocking &blocking, const KeyRanges &ranges) {
    return block * blocking.keys_per_block + panel_key(blocking, ranges, panel);
}

// Whether bounds show that the run-time mask lets every row of the tile attend to keys [begin, end).
Expr covers_all_rows(const KeyRanges &ranges, const Expr &begin, const Expr &end) {
    const auto range = ranges.of_tile(tile, head, batch);
    return begin >= range[KeyRanges::full_first] && end <= range[KeyRanges::full_end];
}

// Most blocks are: their panels needn't be looked at one by one.
Expr covers_whole_block(const Blocking &blocking, const KeyRanges &ranges) {
    const Expr begin = block * blocking.keys_per_block + first_panel_key(blocking, ranges);
    return covers_all_rows(ranges, begin, begin + blocking.keys_per_block);
}

// Stored, and not derived wherever they are needed: a mask's expression in the conditions of loops over panels costs the compiler seconds.
void declare_facts(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Expr begin = first_key_of_panel(blocking, ranges), end = begin + blocking.keys_per_panel;
    const auto range = ranges.of_tile(tile, head, batch);
    Expr inside = begin < range[KeyRanges::end] && end > range[KeyRanges::first];
    Expr all = covers_all_rows(ranges, begin, end), compiled = Halide::Internal::const_true(), of_first = inside, of_rest = inside;
    if (in.mask) {
        const Interval queries = queries_of_tile(in, blocking), keys(begin, end - 1);
        const auto allowed = [&](const Interval &some) { return inside && !in.mask->allows_none({batch, head, some, keys}); };
        compiled = in.mask->allows_all({batch, head, queries, keys});
        const Expr end_of_first = min(queries.min + (blocking.first_rows - 1), queries.max);
        of_rest = allowed(blocking.first_rows == 0 ? queries : Interval(min(end_of_first + 1, queries.max), queries.max));
        of_first = blocking.first_rows == 0 ? of_rest : allowed({queries.min, end_of_first});
    }
    p.facts(panel, tile, block, head, batch) = select(of_first, int(first), 0) | select(of_rest, int(rest), 0) |
                                               select(all, int(all_rows), 0) | select(compiled, int(compiled_all), 0) |
                                               select(covers_whole_block(blocking, ranges), int(whole_block), 0);
}

Known known(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels) {
    const Expr begin = first_key_of_panel(blocking, ranges), facts = panels.facts(panel, tile, block, head, batch);
    auto holds = [&](Fact fact) -> Expr { return (facts & int(fact)) != 0; };
    return {begin,
            begin + blocking.keys_per_panel,
            (facts & (first | rest)) != 0,
            holds(first),
            holds(rest),
            holds(all_rows),
            holds(compiled_all),
            in.use_attend != 0 || in.use_bias != 0,
            in.use_attend != 0 && in.use_bias == 0 && holds(all_rows) && holds(compiled_all)};
}

// Tensors lie with keys side by side, the scores have rows side by side: so small rectangles of keys x rows are turned on the way.
Panels::Turned turned(const std::string &name, const AttentionInputs &in, const Blocking &blocking, const Func &tensor, const Expr &used) {
    const int width = Panels::Turned::width, at_once = Panels::Turned::at_once, step = width * at_once;
    const Expr keys = blocking.keys_of_panels(), known_keys = min(in.keys - block * blocking.keys_per_block, keys);
    Panels::Turned t{Func(name + "_lines"), Func(name + "_rows"), RDom(0, width, 0, at_once, 0, divided_up(keys, step), name)};
    t.keys.where(t.keys.z < select(used, divided_up(known_keys, step), 0));
    Expr rectangle = t.keys.z * at_once + t.keys.y, slot = rectangle * width + t.keys.x;
    t.keys.where(slot < keys);
    Halide::Var which("rectangle");
    Expr source = min(block * blocking.keys_per_block + which * width + key, in.keys - 1);
    t.lines(key, row, which, tile, block, head, batch) = tensor(source, query_of(in, blocking, row), head, batch);
    t.rows(row, key, tile, block, head, batch) = Halide::undef(t.lines.type());
    t.rows(row, slot, tile, block, head, batch) = t.lines(t.keys.x, row, rectangle, tile, block, head, batch);
    return t;
}

// Read along the keys, many at once: neighbouring rows are often a power of two of bytes apart, and evict each other's lines from the
// first-level cache before the rest of such a line would be read.
Panels::Attending attending(const AttentionInputs &in, const Blocking &blocking) {
    const int vector = Panels::Attending::keys_at_once, per_word = Panels::Attending::rows_per_word;
    const Expr keys = blocking.keys_of_panels(), known_keys = min(in.keys - block * blocking.keys_per_block, keys);
    Panels::Attending a{Func("attending"), RDom(0, vector, 0, divided_up(keys, vector), "attending_keys"),
                        RDom(0, vector, "attending_tail")};
    Expr used = in.use_attend != 0, vectors = select(known_keys < vector, 0, divided_up(known_keys, vector));
    a.keys.where(a.keys.y < select(used, vectors, 0));
    a.tail.where(a.tail < select(used && known_keys < vector, known_keys, 0));
    // The last vector begins early enough to end with the keys.
    Expr begin = unsafe_promise_clamped(min(a.keys.y * vector, known_keys - vector), 0, keys - vector);
    auto bits = [&](const Expr &slot) {
        Expr source = unsafe_promise_clamped(block * blocking.keys_per_block + slot, 0, in.keys - 1), sum = cast<uint16_t>(0);
        for (int r = 0; r < std::min(per_word, blocking.rows_per_tile); r++) {
            Expr query = query_of(in, blocking, word * per_word + r);
            sum = sum | select(in.attend(source, query, head, batch) != 0, cast<uint16_t>(1 << r), cast<uint16_t>(0));
        }
        return sum;
    };
    a.words(key, word, tile, block, head, batch) = Halide::undef<uint16_t>();
    a.words(begin + a.keys.x, word, tile, block, head, batch) = bits(begin + a.keys.x);
    a.words(a.tail, word, tile, block, head, batch) = bits(a.tail);
    return a;
}

// A row counts 1 where an interval of it reaches into the panel, or `of_rest` if it is none of the first rows, and `covers` more where one
// holds all of it. An interval has a key of the panel for itself, so that no count grows into the next.
constexpr int of_rest = 1 << 12, covers = 1 << 24;

// A tile's rows in parts of a power of two, whose terms are added up before those of a part's rows: a vector of 24 rows would be taken
// apart (AVX2: a window with a prefix took 1.16 times as long).
int rows_of_part(const Blocking &blocking) { return blocking.rows_per_tile & -blocking.rows_per_tile; }

void declare_reach(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Known k = known(in, blocking, ranges, p);
    p.reached = RDom(0, rows_of_part(blocking), 0, in.intervals.count, "reached");
    Expr undecided = k.possible && !k.all_rows;
    const Expr whole_block = covers_whole_block(blocking, ranges);
    p.reached.where(!whole_block);
    p.reached.where(undecided);
    auto reached = [&](const Expr &r) {
        Expr begin = interval_begin(ranges, r, p.reached.y), end = interval_end(ranges, r, p.reached.y);
        Expr reaches = begin < k.end && end > k.begin && begin < end, holds = begin <= k.begin && end >= k.end;
        Expr one = select(r < blocking.first_rows, 1, of_rest);
        return select(holds, covers + one, select(reaches, one, 0));
    };
    Expr count = 0;
    for (int part = 0; part < blocking.rows_per_tile; part += rows_of_part(blocking))
        count += reached(p.reached.x + part);
    p.reach(panel, tile, block, head, batch) = 0;
    p.reach(panel, tile, block, head, batch) += count;
}

Expr covered(const Panels &p, const Blocking &blocking, const Known &k) {
    return k.all_rows || p.reach(panel, tile, block, head, batch) >= covers * blocking.rows_per_tile;
}

// Whether the first rows may attend to the panel, whether the others may, and whether any may, as bounds and intervals show.
Expr reached_by_first(const Panels &p, const Known &k) {
    return k.first && (k.all_rows || p.reach(panel, tile, block, head, batch) % of_rest != 0);
}
Expr reached_by_rest(const Panels &p, const Known &k) {
    return k.rest && (k.all_rows || p.reach(panel, tile, block, head, batch) % covers >= of_rest);
}
Expr reached(const Panels &p, const Known &k) { return reached_by_first(p, k) || reached_by_rest(p, k); }

// Whether cells have to be counted.
Expr is_open(const Panels &p, const Known &k) { return reached(p, k) && (k.tensors || !k.compiled_all); }

// Most panels of a boolean tensor are decided by whole words, 16 cells at once.
void declare_words(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Known k = known(in, blocking, ranges, p);
    const int per_word = Panels::Attending::rows_per_word, whole = Panels::Attending::whole_word(blocking.rows_per_tile);
    Expr any = cast<uint16_t>(0), all = Halide::UInt(16).max();
    for (int y = 0; y < Panels::Attending::words_of(blocking.rows_per_tile); y++) {
        // The last word may have rows of the next tile as well.
        const int own = Panels::Attending::whole_word(blocking.rows_per_tile - y * per_word);
        for (int x = 0; x < blocking.keys_per_panel; x++) {
            Expr word = p.attend.words(panel_key(blocking, ranges, panel) + x, y, tile, block, head, batch);
            any = any | (word & cast<uint16_t>(own)), all = all & (word | cast<uint16_t>(whole & ~own));
        }
    }
    Expr asked = k.possible && k.words;
    p.joined(panel, tile, block, head, batch) = Tuple(defined_if(asked, any), defined_if(asked, all));
}

void declare_cells(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Known k = known(in, blocking, ranges, p);
    const int at_once = std::gcd(blocking.keys_per_panel, 4); // keys whose cells are added up before those of the rows are
    p.cells = RDom(0, rows_of_part(blocking), 0, blocking.keys_per_panel / at_once, 0, in.intervals.count, "cells");
    if (!in.mask) p.cells.where(k.tensors); // without looking at any panel
    p.cells.where(is_open(p, k) && !k.words);
    auto allowed = [&](const Expr &r, const Expr &x) {
        Expr slot = panel_key(blocking, ranges, panel) + x, key = k.begin + x;
        // Branches, since what isn't used has no memory, and a masked load from nowhere takes hundreds of cycles.
        Expr attend = branch(in.use_attend != 0, attending_bit(p, r, slot), 1) != 0;
        Expr bias = branch(in.use_bias != 0, p.bias.rows(r, slot, tile, block, head, batch), 0.0f);
        Expr all = in_interval(ranges, r, p.cells.z, key) && attend && !strict_equal(bias, masked_score());
        return in.mask ? all && in.mask->allows({batch, head, query_of(in, blocking, r), min(key, in.keys - 1)}) : all;
    };
    Expr count = 0;
    for (int part = 0; part < blocking.rows_per_tile; part += rows_of_part(blocking))
        for (int i = 0; i < at_once; i++)
            count += select(allowed(p.cells.x + part, p.cells.y * at_once + i), 1, 0);
    p.allowed_cells(panel, tile, block, head, batch) = 0;
    p.allowed_cells(panel, tile, block, head, batch) += count;
}

void declare_kind(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    const Known k = known(in, blocking, ranges, p);
    const int cells = blocking.rows_per_tile * blocking.keys_per_panel;
    Expr partial = blocking.first_rows == 0 ? Expr(int(Panels::partial))
                                            : select(!reached_by_rest(p, k), int(Panels::partial_first), //
                                                     !reached_by_first(p, k), int(Panels::partial_rest), int(Panels::partial));
    auto kind_if = [&](const Expr &none, const Expr &all) { return select(none, int(Panels::empty), all, int(Panels::full), partial); };
    Expr counted = p.allowed_cells(panel, tile, block, head, batch);
    const auto joined = p.joined(panel, tile, block, head, batch);
    const int whole = Panels::Attending::whole_word(blocking.rows_per_tile);
    Expr by_words = kind_if(joined[Panels::any] == 0, joined[Panels::all] == cast<uint16_t>(whole));
    Expr by_cells = select(k.words, by_words, kind_if(counted == 0, counted == cells));
    Expr by_rows = select(covered(p, blocking, k), int(Panels::full), partial);
    p.kind(panel, tile, block, head, batch) = select(!reached(p, k), int(Panels::empty), //
                                                     is_open(p, k), by_cells, by_rows);
}

// Lists panels, one kind after another, counts them, and keeps how many they are at the end of each kind. One update for all kinds, since
// every update of a Func takes the compiler as long as a small Func.
void declare_list(Panels &p, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    enum { place, count, mark, each };
    const int kinds = blocking.first_rows == 0 ? 2 : 4; // that are listed
    const Expr panels = blocking.panels_per_block();
    p.listing = RDom(0, int(each), 0, panels, 0, kinds, "listing");
    const Halide::RVar &x = p.listing.x, &y = p.listing.y, &z = p.listing.z;
    const Expr covered = (p.facts(0, tile, block, head, batch) & int(whole_block)) != 0;
    const Expr only_full = in.mask ? Halide::Internal::const_false() : covered && in.use_attend == 0 && in.use_bias == 0;
    p.listing.where(z < select(only_full, 1, kinds));
    only_keys_of_tile(p.listing, ranges, block * blocking.keys_per_block + panel_key(blocking, ranges, y), blocking.keys_per_panel);
    p.listing.where(x == int(mark) || p.kind(y, tile, block, head, batch) == z + int(Panels::full));

    // The other rows don't exist where a tile has no more queries than its first: only those are multiplied, whatever a panel's kind.
    const Expr both = has_other_rows(in, blocking);
    Halide::Var slot("slot");
    auto at = [&](const Expr &s) -> Halide::FuncRef { return p.list(s, tile, block, head, batch); };
    const Expr is_mark = slot == int(Panels::full_count) || slot == int(Panels::first_end) || (slot == int(Panels::both_end) && both);
    at(slot) = select(is_mark && only_full, panels, 0);
    const Expr listed = at(Panels::listed_count);
    const Expr end = select(z < kinds - 1, Panels::full_count + z, both, int(Panels::listed_count), int(Panels::first_end));
    const Expr ended = select(z == Panels::both_end - Panels::full_count && !both, 0, listed);
    at(select(x == int(place), Panels::first_listed + clamp(listed, 0, panels - 1), x == int(count), int(Panels::listed_count), end)) =
        select(x == int(place), panel_key(blocking, ranges, y), x == int(count), listed + 1, ended);
}

} // namespace

Expr attending_bit(const Panels &p, const Expr &of_row, const Expr &slot) {
    const int per_word = Panels::Attending::rows_per_word;
    return cast<int32_t>(p.attend.words(slot, of_row / per_word, tile, block, head, batch)) & (1 << of_row % per_word);
}

Expr listed(const Panels &p, Panels::Slot which) { return p.list(int(which), tile, block, head, batch); }

Expr panel_key_in_block(const Blocking &blocking, const Panels &p, const Expr &slot) {
    // The list holds keys of the block, which bounds can't see.
    return clamp(p.list(Panels::first_listed + slot, tile, block, head, batch), 0, blocking.keys_per_block);
}

Expr first_key(const Blocking &blocking, const Panels &p, const Expr &slot) {
    return block * blocking.keys_per_block + panel_key_in_block(blocking, p, slot);
}

Expr keys_left(const Blocking &blocking, const KeyRanges &ranges, const Panels &p, const Expr &slot) {
    return ranges.of_tile(tile, head, batch)[KeyRanges::end] - block * blocking.keys_per_block - panel_key_in_block(blocking, p, slot);
}

std::vector<SlotsOfRows> slots_of_rows(const Blocking &blocking, const Panels &p) {
    const Expr all = listed(p, Panels::listed_count);
    if (blocking.first_rows == 0) return {{Halide::Internal::const_true(), 0, all}};
    const Expr both_end = listed(p, Panels::both_end), first_end = listed(p, Panels::first_end);
    return {{Halide::Internal::const_true(), 0, both_end},
            {row < blocking.first_rows, both_end, first_end},
            {row >= blocking.first_rows, first_end, all}};
}

Expr has_other_rows(const AttentionInputs &in, const Blocking &blocking) {
    return blocking.first_rows == 0 || in.queries - tile * blocking.rows_per_tile > blocking.first_rows;
}

Expr is_multiplied(const AttentionInputs &in, const Blocking &blocking, const Expr &of_row) {
    if (blocking.first_rows == 0) return Halide::Internal::const_true();
    return of_row / blocking.first_rows < 1 || has_other_rows(in, blocking);
}

Expr multiplies(const Blocking &blocking, const Panels &p, const Expr &slot) {
    const Expr first = slot < listed(p, Panels::first_end), rest = slot < listed(p, Panels::both_end) || !first;
    return (row >= blocking.first_rows || first) && (row < blocking.first_rows || rest);
}

RDom listed_keys(const Blocking &blocking, const Panels &p, const std::string &name, const Expr &used, int per) {
    RDom r(0, blocking.keys_per_panel / per, 0, blocking.panels_per_block(), name);
    // One bound, not two conditions: so that the loop over slots is empty where nothing is used, and has no condition inside.
    r.where(r.y < select(used, listed(p, Panels::listed_count), 0));
    return r;
}

Panels panels(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges) {
    Panels p;
    p.facts = Func("panel_facts"), p.reach = Func("reach");
    p.joined = Func("joined_words"), p.allowed_cells = Func("allowed_cells"), p.kind = Func("panel_kind"), p.list = Func("panel_list");
    p.attend = attending(in, blocking);
    p.bias = turned("bias", in, blocking, in.bias, in.use_bias != 0);
    declare_facts(p, in, blocking, ranges);
    declare_reach(p, in, blocking, ranges);
    declare_words(p, in, blocking, ranges);
    declare_cells(p, in, blocking, ranges);
    declare_kind(p, in, blocking, ranges);

    declare_list(p, in, blocking, ranges);
    return p;
}

} // namespace attune::dsl
