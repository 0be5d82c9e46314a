// Scores in fragments, and their maxima.
#include "dsl/attention_fragments_parts.h"

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

    const Expr block_key = (first_block + step) * b.keys;
    auto stage = [&](const char *name, const Expr &used, auto &&next) {
        RDom elements(0, 4, 0, b.keys / 8, name);
        elements.where(used);
        const Expr of_tile = (warp * b.row_tiles + row_tile) * 16 + elements.x / 2 * 8 + g;
        const Expr old = score(elements.x, elements.y);
        const Expr plain_key = block_key + elements.y * 8 + q * 2 + elements.x % 2;
        // Limits less the place of each element, all made before the loop, would leave no registers for wide heads.
        const Expr element_key = b.warpgroups ? Halide::unsafe_promise_clamped(warp::opaque(plain_key), 0, in.keys + b.keys) : plain_key;
        score(elements.x, elements.y) = next(old, rows.cell(first_row + of_tile, element_key));
        made.score_stages.push_back(elements);
    };
    stage("scale_elements", is_scored(), [&](const Expr &s, const Cell &) { return s * abs(in.scale); });
    stage("cap_elements", in.softcap > 0.0f, [&](const Expr &s, const Cell &) { return capped(s); });
    stage("alibi_elements", in.use_alibi != 0, [&](const Expr &s, const Cell &cell) {
        const Expr distance = cast<float>(abs(cell.query + in.offset(batch) - cell.key));
        return s - warp::exp2(alibi_exponent(cell.head, in.heads)) * distance;
    });
    stage("bias_elements", in.use_bias != 0, [&](const Expr &s, const Cell &cell) {
        const Expr bias = in.bias(min(cell.key, in.keys - 1), min(cell.query, in.queries - 1), cell.head, batch);
        return warp::choose(warp::equal(bias, masked_score()), masked_score(), s + bias);
    });
    stage("mask_elements", !mask().allows_all(cells_of(step)),
          [&](const Expr &s, const Cell &cell) { return warp::choose(cast<int32_t>(mask().allows(cell)), s, masked_score()); });
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

// Of a thread's elements, then over the four lanes that share its rows.
void FragmentDeclaration::declare_maximum() {
    const Var &q = made.q, &g = made.g, &warp = made.warp, &row_tile = made.row_tile;
    made.maximum_elements = RDom(0, 2, 0, b.keys / 8, "maximum_elements");
    const RDom &e = made.maximum_elements;
    auto of_lane = [&]() -> Halide::FuncRef { return made.lane_maximum(half, q, g, row_tile, warp, step, tile, head, batch); };
    of_lane() = masked_score();
    of_lane() = warp::maximum(of_lane(), made.score(half * 2 + e.x, q, g, e.y, row_tile, warp, step, tile, head, batch));
    Expr largest = of_lane();
    for (int lanes : {1, 2})
        largest = warp::maximum(largest, warp::shuffle_xor(largest, lanes));
    made.maximum(half, q, g, row_tile, warp, step, tile, head, batch) = largest;
}

} // namespace attune::dsl
