// The softmax state of a thread's rows: what a step makes of it.
#include "dsl/attention_fragments_parts.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/score.h"
#include "dsl/spoilt_values.h"
#include "dsl/warp.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::RDom;
using Halide::reinterpret;
using Halide::Var;

Halide::FuncRef FragmentDeclaration::at(const Expr &s) const { return made.state(s, made.q, made.g, made.warp, tile, head, batch); }

Expr FragmentDeclaration::reference_of(const Expr &largest) { return warp::choose(warp::equal(largest, masked_score()), 0.0f, largest); }

// Every step makes the same assignments, in this order: factors, maxima, references, weights; then outputs, in one of two ways. By
// warpgroups sums of weights are rescaled before the weights, and after each word of weights take its two.
void FragmentDeclaration::declare_state() {
    const Var &q = made.q, &g = made.g, &warp = made.warp;
    const Expr most_keys = in.split() ? min(in.keys, in.keys_per_chunk) : in.keys;
    made.steps = RDom(0, slots.assignments + slots.marks, 0, int(parts), 0, (most_keys - 1) / b.keys + 1, "steps");
    const Expr i = made.steps.x, part = made.steps.y, now = made.steps.z;
    // A chunk of no key copies none: its steps end before those that copy ahead.
    const Expr count = in.split() ? select(block_count > 0, block_count, 1 - b.stages) : block_count;
    made.steps.where(warp::in_steps(now, count));
    made.steps.where(i < select(part == softmax_part, slots.weight + slots.weights * assignments_a_word(), part == product_part,
                                slots.assignments, slots.assignments + slots.marks));
    made.steps.where(part != product_part || !is_spoilt(now));
    made.steps.where(part != careful_part || is_spoilt(now));
    at(slot) = select(slot >= slots.maximum && slot < slots.reference, masked_score(), 0.0f);

    const Expr of_half = i % slots.halves;
    const Expr top = made.maximum(of_half % 2, q, g, of_half / 2, warp, now, tile, head, batch);
    const Expr old = at(slots.maximum + of_half);
    const Expr largest = warp::maximum(old, top);
    const Expr factor = warp::exp2(warp::subtract(old, reference_of(largest)) * to_base2());
    const Expr reference = reference_of(at(slots.maximum + of_half));
    const Expr nth = (i - slots.weight) / assignments_a_word(), is_sum = (i - slots.weight) % assignments_a_word() == 1;
    const Expr softmax = select(i < slots.maximum, factor, i < slots.reference, largest, i < slots.sum, reference, i < slots.weight,
                                b.warpgroups ? at(slots.sum + of_half) * at(slots.factor + of_half) : Expr(0.0f), is_sum,
                                b.warpgroups ? summed(nth, now) : Expr(0.0f), weight(nth, now));
    const Expr softmax_slot = select(i < slots.weight, i, is_sum, slots.sum + half_of_word(nth), slots.weight + nth);

    const Expr is_mark = i >= slots.assignments, word = clamp(i - slots.assignments, 0, slots.marks - 1);
    const Expr mark =
        reinterpret<float>(reinterpret<uint32_t>(at(slots.mark + word)) | made.marks(word, q, g, warp, now, tile, head, batch));
    const Expr target = select(part == softmax_part, softmax_slot, is_mark, slots.mark + word, slots.output + i % slots.outputs);
    at(target) = select(part == softmax_part, softmax, part == product_part, product(i, now), is_mark, mark, output(i, finite_values(now)));
    if (b.warpgroups) join_sums();
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
    return strict_float(at(slots.sum + half_of_word(w)) + (unpacked_weight(w, 0, now) + unpacked_weight(w, 1, now)));
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

Expr FragmentDeclaration::before(const Expr &i) const {
    const Expr place = i % slots.outputs, element = i % 4, of_tile = i / 4 % b.row_tiles, keys16 = i / slots.outputs % slots.key_depth;
    const Expr old = at(slots.output + place);
    return select(keys16 == 0, old * at(slots.factor + of_tile * 2 + element / 2), old);
}

std::vector<Expr> FragmentDeclaration::weights(const Expr &i) const {
    const Expr of_tile = i / 4 % b.row_tiles, keys16 = i / slots.outputs % slots.key_depth;
    std::vector<Expr> words;
    for (int j = 0; j < 4; j++)
        words.push_back(reinterpret<uint32_t>(at(slots.weight + (keys16 * b.row_tiles + of_tile) * 4 + j)));
    return words;
}

} // namespace attune::dsl
