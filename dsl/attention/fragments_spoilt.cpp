// Values that aren't finite, where not every row may attend to them: whether there are any, and which outputs they reach.
#include "dsl/attention/fragments_parts.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/score.h"
#include "dsl/spoilt_values.h"
#include "dsl/warp.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::RDom;
using Halide::Var;

Expr FragmentDeclaration::some_masked(const Expr &at_step) const { return !mask().allows_all(cells_of(at_step)) || in.use_bias != 0; }

// Each lane looks at its share of the block; what one finds, all of the warp know.
void FragmentDeclaration::declare_spoilt() {
    const Var &q = made.q, &g = made.g, &warp = made.warp;
    const int words = b.value_dim / 2;
    made.lane_words = RDom(0, 4, 0, words * b.keys / 128, "lane_words");
    made.lane_words.where(some_masked(step));
    // In the order in which they lie there, neighbours in neighbouring lanes; where rows are whole turns, at constant distances.
    const Expr turn = made.lane_words.y * 4 + made.lane_words.x, lane = lane_number(), nth = turn * 32 + lane;
    std::vector<Expr> place{nth % words, nth / words};
    if (words % 32 == 0) place = {turn % (words / 32) * 32 + lane, turn / (words / 32)};
    if (b.warpgroups) {
        const int line = value_panels.words, lines_a_turn = 32 / line, turns_a_panel = b.keys / lines_a_turn;
        place = {lane % line, turn % turns_a_panel * lines_a_turn + lane / line, turn / turns_a_panel};
    }
    for (const Expr &rest : {Expr(step), Expr(tile), Expr(head), Expr(batch)})
        place.push_back(rest);
    auto found = [&]() -> Halide::FuncRef { return made.spoilt_lane(q, g, warp, step, tile, head, batch); };
    found() = Expr(0u);
    found() = warp::add_zero_times(in.element, made.value_words(place), found());
    const Expr some = (made.spoilt_lane(q, g, warp, step, tile, head, batch) & Expr(0x7fff7fffu)) != 0;
    made.spoilt(q, g, warp, step, tile, head, batch) = 0;
    RDom once(0, 1, "spoilt_once");
    once.where(some_masked(step));
    made.spoilt(q, g, warp, step, tile, head, batch) = warp::any(cast<int32_t>(some) + once); // once is 0
}

Expr FragmentDeclaration::is_spoilt(const Expr &at_step) const {
    return made.spoilt(made.q, made.g, made.warp, at_step, tile, head, batch) != 0;
}

// One output after another, all in one loop: it hardly ever runs, and mustn't fill the kernel with code.
void FragmentDeclaration::declare_marks() {
    const Var &q = made.q, &g = made.g;
    made.marked = RDom(0, b.keys * slots.marked, "marked");
    // As a plain condition it would be looked at in each turn of the loop, of which there would be as many as ever.
    made.marked.where(warp::in_steps(made.marked, select(is_spoilt(step), b.keys * slots.marked, 0)));
    const Expr place = made.marked / b.keys, nth = made.marked % b.keys;
    const Expr element = place % 4, of_tile = place / 4 % b.row_tiles, value_tile = place / (4 * b.row_tiles);
    const Expr of_warp = Halide::unsafe_promise_clamped(warp::opaque(of_tile * 16 + element / 2 * 8 + g), 0, 16 * b.row_tiles - 1);
    const Expr at_key = Halide::unsafe_promise_clamped(warp::opaque(block_at(step) * b.keys + nth), 0, in.keys + b.keys);
    const Cell at = rows.cell(first_row + made.warp * b.row_tiles * 16 + of_warp, at_key);
    const Expr allowed = mask().allows(at);
    const Expr bias = in.bias(min(at.key, in.keys - 1), min(at.query, in.queries - 1), at.head, batch);
    const Expr unbiased = in.use_bias == 0 || warp::equal(branch(in.use_bias != 0, bias, 0.0f), masked_score()) == 0;
    const Expr value = value_word(value_tile * 4 + q, nth, step);
    const Expr mark = mark_of(in.element, half_of(value, element % 2)) << cast<uint32_t>(place % FragmentSlots::outputs_a_mark * 2);
    auto marks = [&]() -> Halide::FuncRef { return made.marks(slot, q, g, made.warp, step, tile, head, batch); };
    marks() = Expr(0u);
    marks() = marks() | select(allowed && unbiased && place / FragmentSlots::outputs_a_mark == slot, mark, Expr(0u));
}

} // namespace attune::dsl
