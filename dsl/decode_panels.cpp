// Which keys of a chunk are looked at, and where the streams find them.
#include "dsl/decode_parts.h"

#include <algorithm>

#include "dsl/axes.h"
#include "dsl/prefetch.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

void declare_listed_panels(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const int keys = d.blocking.keys_per_panel;
    const Expr rows = d.rows_per_head();
    d.row_intervals = RDom(0, rows, 0, in.intervals.count, "row_intervals");
    d.reach_intervals = RDom(0, rows, 0, in.intervals.count, "reach_intervals");
    auto begin_of = [&](const RDom &r) { return in.intervals.begin(r.y, cell_of_row(in, r.x, Expr())); };
    auto end_of = [&](const RDom &r) { return in.intervals.end(r.y, cell_of_row(in, r.x, Expr())); };
    d.first(head, batch) = in.keys;
    d.first(head, batch) = min(d.first(head, batch), begin_of(d.row_intervals));
    d.end(head, batch) = 0;
    d.end(head, batch) = max(d.end(head, batch), select(begin_of(d.row_intervals) < end_of(d.row_intervals), end_of(d.row_intervals), 0));

    Expr begin = chunk * d.blocking.keys_per_chunk + panel * keys, first = begin_of(d.reach_intervals), end = end_of(d.reach_intervals);
    d.reach(panel, chunk, head, batch) = 0;
    d.reach(panel, chunk, head, batch) =
        max(d.reach(panel, chunk, head, batch), select(first < begin + keys && end > begin && first < end, 1, 0));

    // Whether no cell of the chunk is masked by the intervals, and no panel repeated.
    const int keys_of_chunk = d.blocking.keys_per_chunk;
    d.full_rows = RDom(0, rows, "full_rows");
    auto of_row = [&] { return cell_of_row(in, d.full_rows, Expr()); };
    Expr holds = in.intervals.begin(0, of_row()) <= chunk * keys_of_chunk && in.intervals.end(0, of_row()) >= (chunk + 1) * keys_of_chunk;
    d.full(chunk, head, batch) = 1;
    d.full(chunk, head, batch) = min(d.full(chunk, head, batch), select(holds, 1, 0));

    const int panels = d.blocking.panels_per_chunk();
    const Halide::Var slot("slot");
    auto at = [&](const Expr &s) -> Halide::FuncRef { return d.list(s, chunk, head, batch); };
    d.panels = RDom(0, 2, 0, panels, "panels");
    d.panels.where(d.reach(d.panels.y, chunk, head, batch) != 0);
    at(slot) = 0;
    Expr count = at(0);
    at(select(d.panels.x == 0, 1 + clamp(count, 0, panels - 1), 0)) = select(d.panels.x == 0, d.panels.y, count + 1);
}

// The slot of the list that holds panel `of_stream` of a step.
Expr slot_of(const Decode &d, const Expr &of_stream, const Expr &at_step) {
    return d.blocking.in_turn ? at_step * d.blocking.streams + of_stream : of_stream * steps(d) + at_step;
}

// Where panels begin, and their keys lie. Past the last panel it comes again, and keys that no row may attend to give way to the nearest
// that one may.
void declare_places(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const int keys = d.blocking.keys_per_panel, keys_per_chunk = d.blocking.keys_per_chunk, last = d.blocking.panels_per_chunk() - 1;
    auto begin_of = [&](const Expr &slot) {
        Expr listed = clamp(d.list(1 + clamp(min(slot, listed_count(d) - 1), 0, last), chunk, head, batch), 0, last);
        return chunk * keys_per_chunk + listed * keys;
    };
    d.begin(stream, step, chunk, head, batch) = begin_of(slot_of(d, stream, step));
    // Of the panels that are listed, repeated or asked for ahead, and no others.
    const int most_ahead = DecodeBlocking::most_ahead / keys;
    d.listed = RDom(0, d.blocking.panels_per_chunk() + most_ahead, "listed_panels");
    d.listed.where(d.listed < select(listed_count(d) == 0, 0, steps(d) * d.blocking.streams + most_ahead));
    Expr begin = select(d.listed <= last, begin_of(d.listed), chunk * keys_per_chunk + d.listed * keys);
    auto inside = [&](const Expr &key) { return max(min(key, d.end(head, batch) - 1), d.first(head, batch)); };
    // Where panels lie in one page each, one look at the table does for all lanes.
    d.panels_within_pages = in.pages.size % keys == 0;
    Expr read = inside(begin + lane), looked_up = select(d.panels_within_pages, inside(begin), read);
    const Halide::Var slot("slot");
    d.place(lane, slot, chunk, head, batch) = Halide::undef<int>();
    d.place(lane, d.listed, chunk, head, batch) = in.pages.place(looked_up) + (read - looked_up);
    d.page(lane, slot, chunk, head, batch) = Halide::undef<int>();
    d.page(lane, d.listed, chunk, head, batch) = in.pages.page(looked_up, batch);
}

} // namespace

void declare_panels(Decode &d) {
    declare_listed_panels(d);
    declare_places(d);
}

Expr listed_count(const Decode &d) { return d.list(0, chunk, head, batch); }

Expr steps(const Decode &d) { return (listed_count(d) + d.blocking.streams - 1) / d.blocking.streams; }

RDom steps_of(const Decode &d, const std::string &name, const Expr &used) {
    RDom r(0, d.blocking.streams, 0, d.blocking.steps_per_chunk(), name);
    r.where(r.y < select(used, steps(d), 0));
    return r;
}

Expr panel_begin(const Decode &d, const Expr &of_stream, const Expr &at_step) { return d.begin(of_stream, at_step, chunk, head, batch); }

Expr comes_again(const Decode &d, const Expr &of_stream, const Expr &at_step) { return slot_of(d, of_stream, at_step) >= listed_count(d); }

Expr listed_key(const Decode &d, const Expr &of_lane, const Expr &of_stream, const Expr &at_step) {
    Expr listed = slot_of(d, of_stream, at_step) * d.blocking.keys_per_panel + of_lane;
    return Halide::unsafe_promise_clamped(listed, 0, d.blocking.keys_per_chunk - 1);
}

namespace {

Expr stored_channel(const Decode &d, const Func &paged, const Expr &listed, const Expr &c) {
    const int keys = d.blocking.keys_per_panel;
    auto at = [&](const Func &f) { return f(listed % keys, listed / keys, chunk, head, batch); };
    return paged(c, at(d.place), head, at(d.page));
}

} // namespace

Expr channel_of(const Decode &d, const Func &paged, const Expr &listed, const Expr &c) {
    return as_float(stored_channel(d, paged, listed, c));
}

Expr lane_of(const Decode &d, const Func &paged, int lanes, const Expr &listed, const Expr &v, const Expr &width, const Expr &wanted) {
    const int bytes = paged.types().front().bytes(), depth = d.products.depth(), line = 64;
    auto of_key = [&](const Expr &k) {
        Expr stored = stored_channel(d, paged, k, v * (lanes * depth) + axes::channel);
        return d.products.pairs ? words_from(stored) : as_float(stored);
    };
    if (d.blocking.bytes_ahead == 0 || !width.defined()) return of_key(listed);
    // A constant also where the width is none. (A limit on a quotient by the width is lost: inside loops over channels the compiler knows
    // that there are some, and it infers the table's extent from what it has simplified there.)
    const int64_t usual = 128, bytes_of_key = Halide::Internal::as_const_int(width).value_or(usual) * bytes;
    auto keys_in = [&](int64_t ahead) { return int(std::clamp<int64_t>(ahead / bytes_of_key, 1, DecodeBlocking::most_ahead)); };
    Expr ahead = select(d.rows_per_head() == 1, keys_in(d.blocking.bytes_ahead_alone), keys_in(d.blocking.bytes_ahead));
    return with_prefetch(of_key(listed), of_key(listed + ahead), wanted && v % std::max(line / (lanes * depth * bytes), 1) == 0,
                         d.blocking.nearness);
}

Expr rest_count(const Expr &width, int lanes) { return (width % lanes + lanes - 1) / lanes; }

bool has_rest(const Expr &width, int lanes) { return !is_const_zero(Halide::Internal::simplify(width % lanes)); }

} // namespace attune::dsl
