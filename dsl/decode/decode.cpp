#include "dsl/decode/parts.h"

#include <string>

#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/chunk_merge.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

Cell cell_of_row(const AttentionInputs &in, const Expr &r, const Expr &key) {
    Expr last = min(r, in.queries * in.heads_per_group - 1);
    return {batch, head * in.heads_per_group + last % in.heads_per_group, last / in.heads_per_group, key};
}

namespace {

void declare_merged(Decode &d) {
    ChunkStates states;
    states.elements = {channel, vector}, states.rows = {row, head, batch};
    states.maximum = [&](const Expr &c) { return d.partial(int(Decode::header_maximum), 0, row, c, head, batch); };
    states.element = [&](const Expr &c) { return d.partial(channel, vector, row, c, head, batch); };
    states.count = divided_up(d.inputs.keys, d.keys_per_chunk());
    states.base2_scale = base2_scale(d.inputs.temperature);
    const ChunkMerge m = merge_chunks(states);
    d.joint = m.joint, d.factor = m.factor, d.merged = m.merged, d.chunks = m.chunks, d.merges = m.merges;
}

// As for tiles of attention: the masks are asked again only where some row has sum 0.
void declare_starved(Decode &d) {
    const AttentionInputs &in = d.inputs;
    auto sum = [&](const Expr &r) { return d.merged(int(Decode::header_sum), 0, r, head, batch); };
    d.rows = RDom(0, d.rows_per_head(), "rows"), d.cells = RDom(0, in.intervals.count, 0, in.keys, "starved_cells");
    d.starved(head, batch) = 0;
    d.starved(head, batch) = max(d.starved(head, batch), select(strict_equal(sum(d.rows), 0.0f), 1, 0));
    d.cells.where(d.starved(head, batch) != 0);
    const Cell cell = cell_of_row(in, row, d.cells.y);
    Expr attends = in.intervals.allows(d.cells.x, cell) && in.beside_intervals_allow(cell);
    d.attends(row, head, batch) = 0;
    d.attends(row, head, batch) = max(d.attends(row, head, batch), select(attends, 1, 0));
}

// Where channel `dim` of the output is among the vectors of a state. (In terms of few neighbours, which so are seen to lie side by side.)
struct StatePlace {
    Expr vector, lane;

    explicit StatePlace(const Decode &d) : vector(dim / d.blocking.lanes), lane(dim % d.blocking.lanes) {
        if (d.by_words) {
            const Expr is_split = dim < d.whole_vectors(Cached::value) * d.blocking.lanes;
            const SplitElement split(dim, d.blocking.lanes);
            vector = select(is_split, split.vector, vector), lane = select(is_split, split.lane, lane);
        }
        if (!d.reads_pairs()) return;
        const int side_by_side = PairedElement::in_order;
        const Expr first = dim / side_by_side * side_by_side, is_paired = first < d.whole_vectors(Cached::value) * d.blocking.lanes;
        const PairedElement of_first(first, d.blocking.lanes);
        vector = select(is_paired, of_first.vector, first / d.blocking.lanes);
        const Expr first_lane = select(is_paired, of_first.lane, first % d.blocking.lanes);
        lane = unsafe_promise_clamped(first_lane, 0, d.blocking.lanes - side_by_side) + dim % side_by_side;
    }
};

} // namespace

void declare_chunk_merge(Decode &d) {
    const AttentionInputs &in = d.inputs;
    declare_merged(d);
    declare_starved(d);
    Expr sum = d.merged(int(Decode::header_sum), 0, row, head, batch);
    d.closing(which, row, head, batch) =
        closing(in, which, d.joint(row, head, batch), sum, cell_of_row(in, row, 0).head, d.attends(row, head, batch));
    auto closed = [&](Fold::Closing c) { return d.closing(int(c), row, head, batch); };
    d.result(channel, vector, row, head, batch) =
        branch(vector == 0, closed(Fold::log_sum_exp), d.merged(channel, vector, row, head, batch) * closed(Fold::factor));

    Expr kv_head = head / in.heads_per_group, of_row = token * in.heads_per_group + head % in.heads_per_group;
    const StatePlace at(d);
    d.attention(dim, token, head, batch) = as_type(in.output_type, d.result(at.lane, at.vector + 1, of_row, kv_head, batch));
    d.lse(token, head, batch) = d.result(0, 0, of_row, kv_head, batch);
}

Decode decode(const AttentionInputs &in, const DecodeBlocking &blocking) {
    const int keys = blocking.keys_per_panel, streams = blocking.streams;
    const auto whole = [&](int keys_per_chunk) { return keys_per_chunk % (keys * streams) == 0; };
    if (!whole(blocking.keys_per_chunk) || !whole(blocking.keys_per_chunk_alone) || (blocking.in_turn && keys % streams != 0))
        throw Halide::CompileError("attune: chunks of decoding are no multiple of its panels, or panels no multiple of its streams");
    if (blocking.bytes_ahead.empty() != blocking.value_bytes_ahead.empty())
        throw Halide::CompileError("attune: decoding asks for keys ahead but not for values, or for values alone");
    if (DecodeBlocking::most_ahead % keys != 0)
        throw Halide::CompileError("attune: panels of decoding have " + std::to_string(keys) + " keys; it must divide " +
                                   std::to_string(DecodeBlocking::most_ahead));
    Decode d;
    d.inputs = in, d.blocking = blocking;
    d.products = are_exact_in_bfloat16(in) ? blocking.products : blocking.products.singles();
    declare_tiled(d);
    d.by_words = blocking.by_words && !d.products.pairs && in.pages.key.type().is_bfloat();
    d.first = Func("first"), d.end = Func("end"), d.reach = Func("reach"), d.full = Func("full"), d.list = Func("panel_list"),
    d.begin = Func("panel_begin"), d.panel_at = Func("panel_at"), d.read_at = Func("read_at"), d.place_of_page = Func("place_of_page");
    d.query = Func("scaled_query"), d.rest_query = Func("rest_query"), d.masked = Func("score");
    d.lane_maximum = Func("lane_maximum"), d.maximum = Func("chunk_maximum"), d.weight = Func("weight");
    d.lane_sum = Func("lane_sum"), d.sum = Func("chunk_sum"), d.share = Func("share"), d.output = Func("chunk_output");
    d.lane_bits = Func("lane_bits"), d.output_bits = Func("output_bits"), d.careful_sum = Func("careful_sum"),
    d.careful = Func("careful_output"), d.partial = Func("chunk_state");
    d.starved = Func("starved"), d.attends = Func("attends"), d.closing = Func("closing"), d.result = Func("result");
    d.attention = Func("attention"), d.lse = Func("log_sum_exp");
    declare_panels(d);
    declare_decode_scores(d);
    declare_chunk_state(d);
    declare_chunk_merge(d);
    return d;
}

} // namespace attune::dsl
