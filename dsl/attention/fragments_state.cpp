// The softmax state of a thread's rows: what a step makes of it.
#include "dsl/attention/fragments_parts.h"

#include <algorithm>

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
using Halide::reinterpret;
using Halide::Var;

namespace {

constexpr float most_growth = 8.0f; // a weight of 256 is far from the largest f16

} // namespace

Halide::FuncRef FragmentDeclaration::at(const Expr &s) const { return made.state(s, made.q, made.g, made.warp, tile, head, batch); }

Expr FragmentDeclaration::reference_of(const Expr &largest) { return warp::choose(warp::equal(largest, masked_score()), 0.0f, largest); }

Expr FragmentDeclaration::maximum_of(const Expr &reference, const Expr &limit) {
    return warp::choose(warp::equal(limit, masked_score()), masked_score(), reference);
}

Expr FragmentDeclaration::is_beyond(const Expr &now) const {
    Expr beyond = 0;
    for (int of_half = 0; of_half < slots.halves; of_half++)
        beyond = beyond | warp::exceeds(lane_maximum(of_half, now), at(slots.limit + of_half));
    return warp::any(beyond);
}

Expr FragmentDeclaration::rescaled(const Expr &i, const Expr &now) const {
    const Expr of_half = i % slots.halves;
    const Expr before = maximum_of(at(slots.reference + of_half), at(slots.limit + of_half)), largest = at(slots.largest + of_half);
    const Expr factor = warp::exp2(warp::subtract(before, reference_of(largest)) * to_base2());
    const Expr limit = warp::subtract(largest, -most_growth / to_base2());
    const Expr nth = max(i - slots.weight, 0), half_of_output = nth / 4 % b.row_tiles * 2 + nth % 4 / 2;
    const Expr sum = b.warpgroups ? at(slots.sum + of_half) * at(slots.factor + of_half) : Expr(0.0f);
    const Expr output = at(slots.output + min(nth, slots.outputs - 1)) * at(slots.factor + half_of_output);
    return select(i < slots.factor, warp::maximum(before, maximum(of_half, now)), i < slots.reference, factor, i < slots.limit,
                  reference_of(largest), i < slots.sum, limit, i < slots.weight, sum, output);
}

// Every step makes the same assignments, in this order: what rescales, weights; then outputs, in one of two ways. By warpgroups sums of
// weights are rescaled, too, and after each word of weights take its two.
//
// A step rescales where a score is so far beyond the one that weighs 1 that it would weigh more than 2^most_growth, and else leaves alone
// what was summed: hardly any step after the first does, as in FlashAttention-4.
void FragmentDeclaration::declare_state() {
    const Var &q = made.q, &g = made.g, &warp = made.warp;
    const Expr most_keys = in.split() ? min(in.keys, in.keys_per_chunk) : in.keys;
    const int most = std::max(slots.assignments + slots.marks, slots.rescaled);
    made.steps = RDom(0, most, 0, int(parts), 0, (most_keys - 1) / b.keys + 1, "steps");
    const Expr i = made.steps.x, part = made.steps.y, now = made.steps.z;
    at(slot) = select(slot >= slots.limit && slot < slots.sum, masked_score(), 0.0f);
    // A chunk of no key copies none: its steps end before those that copy ahead.
    const Expr count = in.split() ? select(block_count > 0, block_count, 1 - b.stages) : block_count;
    made.steps.where(warp::in_steps(now, count));
    made.steps.where(i < select(part == limit_part, 1, part == rescaling_part, slots.rescaled, part == weight_part,
                                slots.weights * assignments_a_word(), part == product_part, slots.assignments,
                                slots.assignments + slots.marks));
    made.steps.where(part != rescaling_part || reinterpret<int32_t>(at(slots.beyond)) != 0);
    made.steps.where(part != product_part || !is_spoilt(now));
    made.steps.where(part != careful_part || is_spoilt(now));
    const Expr rescaled_slot = select(i < slots.weight, i, slots.output + i - slots.weight);
    const Expr nth = i / assignments_a_word(), is_sum = i % assignments_a_word() == 1;
    const Expr weighed = select(is_sum, b.warpgroups ? summed(nth, now) : Expr(0.0f), weight(nth, now));
    const Expr weighed_slot = select(is_sum, slots.sum + half_of_word(nth), slots.weight + nth);

    const Expr is_mark = i >= slots.assignments, word = clamp(i - slots.assignments, 0, slots.marks - 1);
    const Expr mark =
        reinterpret<float>(reinterpret<uint32_t>(at(slots.mark + word)) | made.marks(word, q, g, warp, now, tile, head, batch));
    const Expr target = select(part == limit_part, slots.beyond, part == rescaling_part, rescaled_slot, part == weight_part, weighed_slot,
                               is_mark, slots.mark + word, slots.output + i % slots.outputs);
    at(target) = select(part == limit_part, reinterpret<float>(is_beyond(now)), part == rescaling_part, rescaled(i, now),
                        part == weight_part, weighed, part == product_part, product(i, now), is_mark, mark, output(i, finite_values(now)));
    add_marked();
    if (b.warpgroups) join_sums();
}

void FragmentDeclaration::add_marked() {
    auto word = [&](const Expr &nth) { return reinterpret<uint32_t>(at(slots.mark + nth)); };
    Expr any = word(0);
    for (int nth = 1; nth < slots.marks; nth++)
        any = any | word(nth);
    made.marked_outputs = RDom(0, slots.marked, "marked_outputs");
    made.marked_outputs.where(any != Expr(0u));
    const Expr place = made.marked_outputs, output = at(slots.output + place);
    const Expr mark = word(place / FragmentSlots::outputs_a_mark) >> cast<uint32_t>(place % FragmentSlots::outputs_a_mark * 2);
    at(slots.output + place) = warp::add(output, marked_value(mark & Expr(3u)));
}

void FragmentDeclaration::join_sums() {
    made.sums = RDom(0, slots.halves, "sums");
    auto sum = [&]() -> Halide::FuncRef { return made.state(slots.sum + made.sums, made.q, made.g, made.warp, tile, head, batch); };
    Expr joint = sum();
    for (int lanes : {1, 2})
        joint = strict_float(joint + warp::shuffle_xor(joint, lanes));
    sum() = joint;
}

Expr FragmentDeclaration::weight(const Expr &w, const Expr &now) const {
    return reinterpret<float>(warp::pack(in.element, unpacked_weight(w, 0, now), unpacked_weight(w, 1, now)));
}

Expr FragmentDeclaration::unpacked_weight(const Expr &w, int which, const Expr &now) const {
    const Expr part = w % 4, of_tile = w / 4 % b.row_tiles, keys16 = w / (4 * b.row_tiles) % slots.key_depth;
    const Expr score = made.score(part % 2 * 2 + which, made.q, made.g, keys16 * 2 + part / 2, of_tile, made.warp, now, tile, head, batch);
    // Subtracted first: the largest score weighs 1, however large it is.
    return warp::exp2(warp::subtract(score, at(slots.reference + of_tile * 2 + part % 2)) * to_base2());
}

Expr FragmentDeclaration::summed(const Expr &w, const Expr &now) const {
    // As calls: strict_float would be of the weights too, which the compiler then took for others than those of the products.
    return warp::add(at(slots.sum + half_of_word(w)), warp::add(unpacked_weight(w, 0, now), unpacked_weight(w, 1, now)));
}

FragmentDeclaration::Values FragmentDeclaration::fragment_values(const Expr &now) const {
    return [=](const Expr &keys16, const Expr &value_tile, int which) {
        return made.value_fragment(value_tile % 2 * 2 + which, made.q, made.g, keys16, value_tile / 2, now, tile, head, batch);
    };
}

// With 0 for what isn't finite.
FragmentDeclaration::Values FragmentDeclaration::finite_values(const Expr &now) const {
    const Values read = fragment_values(now);
    return
        [=](const Expr &keys16, const Expr &value_tile, int which) { return finite_halves(in.element, read(keys16, value_tile, which)); };
}

Expr FragmentDeclaration::product(const Expr &i, const Expr &now) const {
    if (!b.warpgroups) return output(i, fragment_values(now));
    const Expr keys16 = i / slots.outputs % slots.key_depth;
    return warp::add_group_product(in.element, b.value_dim, before(i), i % slots.outputs, weights(i), value_word(0, keys16 * 16, now),
                                   value_panels.line_bytes(), value_panels.bytes(b.keys));
}

Expr FragmentDeclaration::output(const Expr &i, const Values &values_of) const {
    const Expr element = i % 4, value_tile = i / (4 * b.row_tiles) % slots.value_tiles, keys16 = i / slots.outputs % slots.key_depth;
    std::vector<Expr> values;
    const Expr ones(in.element.is_bfloat() ? 0x3f803f80u : 0x3c003c00u), column = min(value_tile, slots.value_columns - 1);
    for (int j = 0; j < 2; j++)
        values.push_back(select(value_tile == slots.value_columns, ones, values_of(keys16, column, j)));
    return warp::add_product(in.element, before(i), element, weights(i), values);
}

std::vector<Expr> FragmentDeclaration::weights(const Expr &i) const {
    const Expr of_tile = i / 4 % b.row_tiles, keys16 = i / slots.outputs % slots.key_depth;
    std::vector<Expr> words;
    for (int j = 0; j < 4; j++)
        words.push_back(reinterpret<uint32_t>(at(slots.weight + (keys16 * b.row_tiles + of_tile) * 4 + j)));
    return words;
}

} // namespace attune::dsl
