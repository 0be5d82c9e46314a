#include "dsl/attention/fragments_parts.h"

#include "dsl/axes.h"
#include "dsl/warp.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::Var;
using Halide::Internal::Interval;

FragmentDeclaration::FragmentDeclaration(const FragmentInputs &inputs, const FragmentBlocking &blocking)
    : in(inputs), b(blocking), slots(blocking), panels(blocking.head_dim),
      value_panels(blocking.value_dim), rows{inputs.queries, inputs.heads_per_group, inputs.split()},
      chunks(inputs.split() ? (inputs.keys - 1) / inputs.keys_per_chunk + 1 : Expr(1)),
      first_row((inputs.split() ? tile / chunks : Expr(tile)) * blocking.rows()) {
    bound_blocks();
    name_funcs();
    declare_words();
    declare_score();
    declare_maximum();
    declare_spoilt();
    declare_marks();
    declare_state();
    if (in.split())
        declare_partial(), declare_merge();
    else
        declare_results();
}

Interval FragmentDeclaration::queries() const { return rows.queries(first_row, min(first_row + b.rows(), rows.count()) - 1); }

Mask FragmentDeclaration::mask() const {
    const Expr keys = in.keys;
    const Mask there([keys](const Cell &cell) { return cell.key < keys; });
    return in.mask ? there & *in.mask : there;
}

void FragmentDeclaration::bound_blocks() {
    const std::vector<Interval> runs = mask().possible_key_runs({batch, head, queries(), {Expr(0), in.keys - 1}});
    Interval keys = runs[0];
    if (runs.size() == 2) keys.min = min(keys.min, runs[1].min), keys.max = max(keys.max, runs[1].max);
    first_key = clamp(keys.min, 0, in.keys - 1), last_key = clamp(keys.max, first_key, in.keys - 1);
    if (in.split()) last_key = clamp(end_of_chunk() * b.keys - 1, first_key, last_key); // what lies beyond isn't copied
    if (runs.size() == 2) return bound_two_runs(runs);
    const Interval blocks = blocks_of(keys);
    first_block = blocks.min, block_count = max(blocks.max - blocks.min, 0);
}

Expr FragmentDeclaration::end_of_chunk() const { return (tile % chunks + 1) * (in.keys_per_chunk / b.keys); }

Interval FragmentDeclaration::blocks_of(const Interval &keys) const {
    Interval blocks(clamp(keys.min, 0, in.keys - 1) / b.keys, min(keys.max, in.keys - 1) / b.keys + 1);
    if (in.split()) {
        blocks.min = max(blocks.min, end_of_chunk() - in.keys_per_chunk / b.keys), blocks.max = min(blocks.max, end_of_chunk());
    }
    return blocks;
}

// Which of them comes first is known at run time alone, and they may overlap: the second begins after the end of the first.
void FragmentDeclaration::bound_two_runs(const std::vector<Interval> &runs) {
    const Interval a = blocks_of(runs[0]), c = blocks_of(runs[1]);
    const Expr swapped = c.min < a.min, end = select(swapped, c.max, a.max);
    first_block = min(a.min, c.min), first_run = max(end - first_block, 0);
    const Expr second = max(max(a.min, c.min), first_block + first_run), second_end = select(swapped, a.max, c.max);
    gap = second - first_block - first_run;
    block_count = first_run + max(second_end - second, 0);
}

Expr FragmentDeclaration::block_at(const Expr &at_step) const {
    const Expr block = first_block + at_step;
    return gap.defined() ? block + select(at_step >= first_run, gap, 0) : block;
}

void FragmentDeclaration::name_funcs() {
    made.inputs = in, made.blocking = b;
    made.query_words = Func("query_words"), made.key_words = Func("key_words"), made.value_words = Func("value_words");
    made.query_fragment = Func("query_fragment"), made.key_fragment = Func("key_fragment");
    made.value_fragment = Func("value_fragment"), made.score = Func("score"), made.lane_maximum = Func("lane_maximum"),
    made.hidden_row = Func("hidden_row");
    made.state = Func("state"), made.factor = Func("factor"), made.spoilt_lane = Func("spoilt_lane"), made.spoilt = Func("spoilt"),
    made.marks = Func("marks");
    made.output = Func("out"), made.lse = Func("lse"), made.partial = Func("chunk_state"), made.closed = Func("closed");
}

// Outside of the queries and of the tile's keys the nearest one is repeated, and so in steps beyond its last: what comes of it is masked,
// or not looked at. So padding isn't even read.
void FragmentDeclaration::declare_words() {
    const Expr q_row = min(first_row + row, rows.count() - 1);
    const Expr k_token = clamp(block_at(step) * b.keys + key, first_key, last_key);
    // A negative scale is its size and a q of the other sign: the largest score stays that of the largest product.
    const uint32_t signs = 0x80008000u;
    const Expr flip = select(in.scale < 0.0f, Expr(signs), Expr(0u));
    define_tile(made.query_words, panels, row, {tile, head, batch},
                [&](const Expr &of_word) { return in.query(of_word, rows.query_of(q_row), rows.head_of(q_row), batch) ^ flip; });
    define_tile(made.key_words, panels, key, {step, tile, head, batch},
                [&](const Expr &of_word) { return in.key(of_word, k_token, rows.kv_head(), batch); });
    define_tile(made.value_words, value_panels, key, {step, tile, head, batch},
                [&](const Expr &of_word) { return in.value(of_word, k_token, rows.kv_head(), batch); });
    declare_fragments();
}

void FragmentDeclaration::define_tile(Func &f, const SwizzledPanels &of, const Var &of_row, const std::vector<Var> &rest,
                                      const Value &value) {
    std::vector<Var> axes{word, of_row};
    if (b.warpgroups) axes.push_back(panel);
    axes.insert(axes.end(), rest.begin(), rest.end());
    f(axes) = value(b.warpgroups ? panel * of.words + of.swizzled(word, of_row) : Expr(word));
}

Expr FragmentDeclaration::tile_word(const Func &f, const SwizzledPanels &of, const Expr &of_word, const Expr &of_row,
                                    const std::vector<Expr> &rest) const {
    std::vector<Expr> place{b.warpgroups ? of.swizzled(of_word, of_row) : of_word, of_row};
    if (b.warpgroups) place.push_back(of.panel_of(of_word));
    place.insert(place.end(), rest.begin(), rest.end());
    return f(place);
}

Expr FragmentDeclaration::query_word(const Expr &of_word, const Expr &of_row) const {
    return tile_word(made.query_words, panels, of_word, of_row, {tile, head, batch});
}

Expr FragmentDeclaration::key_word(const Expr &of_word, const Expr &of_key, const Expr &at_step) const {
    return tile_word(made.key_words, panels, of_word, of_key, {at_step, tile, head, batch});
}

Expr FragmentDeclaration::value_word(const Expr &of_word, const Expr &of_key, const Expr &at_step) const {
    return tile_word(made.value_words, value_panels, of_word, of_key, {at_step, tile, head, batch});
}

void FragmentDeclaration::declare_fragments() {
    const Var &q = made.q, &g = made.g, &warp = made.warp, &row_tile = made.row_tile;
    const Expr lane = lane_number();
    const Expr lane_row = (warp * b.row_tiles + row_tile) * 16 + lane % 16;
    made.value_fragment(r, q, g, depth, key_tile, step, tile, head, batch) =
        warp::load_matrices_transposed(r, value_word(key_tile * 8 + lane / 16 * 4, depth * 16 + lane % 16, step));
    if (b.warpgroups) return;
    made.query_fragment(r, q, g, depth, row_tile, warp, tile, head, batch) =
        warp::load_matrices(r, query_word(depth * 8 + lane / 16 * 4, lane_row));
    made.key_fragment(r, q, g, depth, key_tile, step, tile, head, batch) =
        warp::load_matrices(r, key_word(depth * 8 + lane / 8 % 2 * 4, key_tile * 16 + lane / 16 * 8 + lane % 8, step));
}

CellBlock FragmentDeclaration::cells_of(const Expr &at_step) const {
    const Expr block_key = block_at(at_step) * b.keys;
    return {batch, head, queries(), {block_key, block_key + b.keys - 1}};
}

FragmentAttention fragment_attention(const FragmentInputs &inputs, const FragmentBlocking &blocking) {
    return FragmentDeclaration(inputs, blocking).made;
}

} // namespace attune::dsl
