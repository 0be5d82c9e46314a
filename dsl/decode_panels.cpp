// Which keys of a chunk are looked at, and where the streams find them.
#include "dsl/decode_parts.h"

#include <algorithm>

#include "dsl/axes.h"
#include "dsl/prefetch.h"

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

// Where panels begin. Past the last one it comes again, and keys that no row may attend to give way to the nearest that one may.
void declare_places(Decode &d) {
    const int last = d.blocking.panels_per_chunk() - 1;
    Expr slot = clamp(min(slot_of(d, stream, step), listed_count(d) - 1), 0, last);
    Expr listed = clamp(d.list(1 + slot, chunk, head, batch), 0, last);
    d.begin(stream, step, chunk, head, batch) = chunk * d.blocking.keys_per_chunk + listed * d.blocking.keys_per_panel;
    Expr key = d.begin(stream, step, chunk, head, batch) + lane;
    d.read(lane, stream, step, chunk, head, batch) = max(min(key, d.end(head, batch) - 1), d.first(head, batch));
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

Expr read_key(const Decode &d, const Expr &of_lane, const Expr &of_stream, const Expr &at_step) {
    return Halide::unsafe_promise_clamped(d.read(of_lane, of_stream, at_step, chunk, head, batch), 0, d.inputs.keys - 1);
}

Expr prefetched(const Decode &d, const Expr &now, const Func &ahead, const Expr &width) {
    const int bytes = ahead.types().front().bytes(), lanes = d.blocking.lanes, line = 64;
    if (d.blocking.bytes_ahead == 0) return now;
    Expr tokens = max(d.blocking.bytes_ahead / (width * bytes), 1);
    Expr later = ahead(vector * lanes + channel, read_key(d, lane, stream, step), tokens, head, batch);
    return with_prefetch(now, later, vector % std::max(line / (lanes * bytes), 1) == 0);
}

Expr rest_count(const Expr &width, int lanes) { return (width % lanes + lanes - 1) / lanes; }

bool has_rest(const Expr &width, int lanes) { return !is_const_zero(Halide::Internal::simplify(width % lanes)); }

} // namespace attune::dsl
