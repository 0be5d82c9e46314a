// Scores in fragments, and their maxima.
#include "dsl/attention/fragments_parts.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/score.h"
#include "dsl/softmax.h"
#include "dsl/warp.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::RDom;
using Halide::Var;

void FragmentDeclaration::declare_score() {
    const Var &q = made.q, &g = made.g, &warp = made.warp, &row_tile = made.row_tile;
    made.product = RDom(0, b.head_dim / 16, "depth");
    const Expr d = made.product;
    auto score = [&](const Expr &element, const Expr &tile_of_keys) -> Halide::FuncRef {
        return made.score(element, q, g, tile_of_keys, row_tile, warp, step, tile, head, batch);
    };
    score(r, key_tile) = 0.0f;
    score(r, key_tile) = b.warpgroups ? group_score(score(r, key_tile), d) : warp_score(score(r, key_tile), d);

    // One branch around all that is done to scores, since mostly nothing is: but for the mask, which has its own.
    RDom scored(0, 4, 0, b.keys / 8, 0, int(in.score ? score_parts : own_part), "scored_elements"),
        masked(0, 4, 0, b.keys / 8, "mask_elements");
    scored.where(is_scored());
    scored.where(scored.z != cap_part || in.softcap > 0.0f);
    scored.where(scored.z != alibi_part || in.use_alibi != 0);
    scored.where(scored.z != bias_part || in.use_bias != 0);
    // Once a step: what scores and masks make of a row isn't made before the loop, where it would wait in registers, nor for each element.
    // A chunk has few steps, and so nothing to win by it.
    made.hidden_row(q, g, warp, step, tile, head, batch) = in.split() ? Expr(g) : warp::opaque(g);
    const Expr hidden_row = Halide::unsafe_promise_clamped(made.hidden_row(q, g, warp, step, tile, head, batch), 0, 7);
    score(scored.x, scored.y) = changed_score(score(scored.x, scored.y), scored.z, element_cell(scored.x, scored.y, hidden_row));
    masked.where(!mask().allows_all(cells_of(step)));
    const Expr allowed = cast<int32_t>(mask().allows(element_cell(masked.x, masked.y, hidden_row)));
    score(masked.x, masked.y) = warp::choose(allowed, score(masked.x, masked.y), masked_score());
    made.scored_elements = scored, made.mask_elements = masked;
}

Cell FragmentDeclaration::element_cell(const Expr &element, const Expr &tile_of_keys, const Expr &g) const {
    const Expr of_tile = (made.warp * b.row_tiles + made.row_tile) * 16 + element / 2 * 8 + g;
    const Expr plain_key = block_at(step) * b.keys + tile_of_keys * 8 + made.q * 2 + element % 2;
    // Limits less the place of each element, all made before the loop, would leave no registers for anything else.
    const Expr element_key = Halide::unsafe_promise_clamped(warp::opaque(plain_key), 0, in.keys + b.keys);
    return rows.cell(first_row + of_tile, element_key);
}

Expr FragmentDeclaration::changed_score(const Expr &s, const Expr &part, const Cell &cell) const {
    const Expr distance = cast<float>(abs(cell.query + in.offset(batch) - cell.key));
    const Expr with_alibi = s - warp::exp2(alibi_exponent(cell.head, in.heads)) * distance;
    const Expr bias = in.bias(min(cell.key, in.keys - 1), min(cell.query, in.queries - 1), cell.head, batch);
    const Expr with_bias = warp::choose(warp::equal(bias, masked_score()), masked_score(), s + bias);
    return select(part == scale_part, s * abs(in.scale), part == cap_part, capped(s), part == alibi_part, with_alibi, part == bias_part,
                  with_bias, in.score ? (*in.score)(s, cell) : s);
}

Expr FragmentDeclaration::warp_score(const Expr &before, const Expr &d) const {
    const Var &q = made.q, &g = made.g;
    std::vector<Expr> query, key_part;
    for (int i = 0; i < 4; i++)
        query.push_back(made.query_fragment(i, q, g, d, made.row_tile, made.warp, tile, head, batch));
    for (int i = 0; i < 2; i++)
        key_part.push_back(made.key_fragment(key_tile % 2 * 2 + i, q, g, d, key_tile / 2, step, tile, head, batch));
    const Expr ahead = step + (b.stages - 1);
    return warp::add_product(in.element, before, r, query, key_part,
                             {key_word(0, key_tile * 8, ahead), value_word(0, key_tile * 8, ahead)});
}

Expr FragmentDeclaration::group_score(const Expr &before, const Expr &d) const {
    const Expr ahead = step + (b.stages - 1);
    return warp::add_group_product(in.element, b.keys, before, key_tile * 4 + r, query_word(d * 8, made.warp / 4 * 64),
                                   key_word(d * 8, 0, step), panels.line_bytes(), {key_word(0, 0, ahead), value_word(0, 0, ahead)});
}

Expr FragmentDeclaration::capped(const Expr &s) const {
    const Expr c = max(in.softcap, 1e-37f), x = s * (1.0f / c), square = x * x;
    const Expr power = warp::exp2(x * (2.0f * base2_scale(1.0f)));
    const Expr large = warp::multiply_add(c * -2.0f, warp::reciprocal(power + 1.0f), c);
    const Expr small = s * horner(square, {1.0f, -1.0f / 3, 2.0f / 15, -17.0f / 315, 62.0f / 2835});
    return warp::choose(cast<int32_t>(square < 0.09f), small, large);
}

Expr FragmentDeclaration::to_base2() const {
    // Beyond these bounds softmax is the arg max, or the plain mean, already, and what is 0 or infinite here would make NaN of 0.
    return clamp(select(is_scored(), 1.0f, abs(in.scale)) * base2_scale(in.temperature), 1e-37f, 1e37f);
}

void FragmentDeclaration::declare_maximum() {
    const Var &q = made.q, &g = made.g, &warp = made.warp, &row_tile = made.row_tile;
    made.maximum_elements = RDom(1, b.keys / 4 - 1, "maximum_elements");
    const RDom &e = made.maximum_elements;
    auto of_lane = [&]() -> Halide::FuncRef { return made.lane_maximum(half, q, g, row_tile, warp, step, tile, head, batch); };
    auto score = [&](const Expr &nth) { return made.score(half * 2 + nth % 2, q, g, nth / 2, row_tile, warp, step, tile, head, batch); };
    of_lane() = score(0);
    of_lane() = warp::maximum(of_lane(), score(e));
}

Expr FragmentDeclaration::lane_maximum(const Expr &of_half, const Expr &at_step) const {
    return made.lane_maximum(of_half % 2, made.q, made.g, of_half / 2, made.warp, at_step, tile, head, batch);
}

Expr FragmentDeclaration::maximum(const Expr &of_half, const Expr &at_step) const {
    Expr largest = lane_maximum(of_half, at_step);
    for (int lanes : {1, 2})
        largest = warp::maximum(largest, warp::shuffle_xor(largest, lanes));
    return largest;
}

} // namespace attune::dsl
