#include "dsl/attention_fragments.h"

#include <utility>

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/rows_of_head.h"
#include "dsl/score.h"
#include "dsl/softmax.h"
#include "dsl/spoilt_values.h"
#include "dsl/swizzled_panels.h"
#include "dsl/warp.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::reinterpret;
using Halide::Var;
using Halide::Internal::Interval;

namespace {

const Var r("r"), word("word"), key_tile("key_tile"), depth("depth"), half("half"), slot("slot"), column("column"), odd("odd");

/** Where the parts of a thread's state lie. A row tile has two halves of rows a thread: g and g + 8. */
struct Slots {
    explicit Slots(const FragmentBlocking &b)
        : halves(2 * b.row_tiles), key_depth(b.keys / 16), value_columns(b.value_dim / 8),
          value_tiles(value_columns + (b.warpgroups ? 0 : 1)), factor(0), maximum(halves), reference(2 * halves), sum(3 * halves),
          weight(b.warpgroups ? sum + halves : sum), weights(4 * key_depth * b.row_tiles), output(weight + weights),
          outputs(4 * value_tiles * b.row_tiles), mark(output + outputs), marked(4 * value_columns * b.row_tiles),
          marks((marked + outputs_a_mark - 1) / outputs_a_mark), count(mark + marks), assignments(outputs * key_depth) {}

    static constexpr int outputs_a_mark = 16; // two bits each

    const int halves, key_depth, value_columns; // tiles of 8 values
    const int value_tiles;                      // of products: but by warpgroups one more, of ones, which makes the sums of the weights
    const int factor, maximum, reference;       // what the old sums are multiplied by; the largest score, and that or 0
    const int sum;                              // by warpgroups: of the weights; until the end of those that this lane holds
    const int weight, weights;                  // words of the left factor of the second product
    const int output, outputs;
    const int mark, marked, marks; // words of two bits for each of `marked` outputs: what values that aren't finite make of it
    const int count, assignments;  // slots; and how often a step adds to outputs: to each once for every 16 keys
};

class Declaration {
public:
    Declaration(const FragmentInputs &inputs, const FragmentBlocking &blocking)
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

    FragmentAttention made;

private:
    const FragmentInputs &in;
    const FragmentBlocking &b;
    const Slots slots;
    const SwizzledPanels panels, value_panels; // by warpgroups
    const RowsOfHead rows;
    const Expr chunks, first_row;  // how many chunks there are; and the tile's first row
    Expr first_key, last_key;      // that some query of the tile may attend to, both ends included
    Expr first_block, block_count; // which blocks hold them

    Expr lane_number() const { return made.g * 4 + made.q; }
    Interval queries() const { return rows.queries(first_row, min(first_row + b.rows(), rows.count()) - 1); }

    Mask mask() const {
        const Expr keys = in.keys;
        const Mask there([keys](const Cell &cell) { return cell.key < keys; });
        return in.mask ? there & *in.mask : there;
    }

    void bound_blocks() {
        const Interval keys = mask().possible_keys({batch, head, queries(), {Expr(0), in.keys - 1}});
        first_key = clamp(keys.min, 0, in.keys - 1), last_key = clamp(keys.max, first_key, in.keys - 1);
        first_block = first_key / b.keys;
        Expr end_block = min(keys.max, in.keys - 1) / b.keys + 1;
        if (in.split()) {
            const Expr blocks = in.keys_per_chunk / b.keys, chunk_begin = tile % chunks * blocks;
            first_block = max(first_block, chunk_begin), end_block = min(end_block, chunk_begin + blocks);
        }
        block_count = max(end_block - first_block, 0);
    }

    void name_funcs() {
        made.inputs = in, made.blocking = b;
        made.query_words = Func("query_words"), made.key_words = Func("key_words"), made.value_words = Func("value_words");
        made.query_fragment = Func("query_fragment"), made.key_fragment = Func("key_fragment");
        made.value_fragment = Func("value_fragment"), made.score = Func("score"), made.lane_maximum = Func("lane_maximum");
        made.maximum = Func("maximum"), made.state = Func("state"), made.factor = Func("factor"), made.spoilt_lane = Func("spoilt_lane"),
        made.spoilt = Func("spoilt"), made.marks = Func("marks");
        made.output = Func("out"), made.lse = Func("lse"), made.partial = Func("chunk_state"), made.closed = Func("closed");
    }

    // Outside of the queries, of the tile's keys and of its steps the nearest one is repeated: what comes of it is masked, or not looked
    // at. So padding isn't even read.
    void declare_words() {
        const Expr q_row = min(first_row + row, rows.count() - 1);
        const Expr at = clamp(first_block + min(step, block_count - 1), 0, (in.keys - 1) / b.keys);
        const Expr k_token = clamp(at * b.keys + key, first_key, last_key);
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

    template <typename Value>
    void define_tile(Func &f, const SwizzledPanels &of, const Var &of_row, const std::vector<Var> &rest, const Value &value) {
        std::vector<Var> axes{word, of_row};
        if (b.warpgroups) axes.push_back(panel);
        axes.insert(axes.end(), rest.begin(), rest.end());
        f(axes) = value(b.warpgroups ? panel * of.words + of.swizzled(word, of_row) : Expr(word));
    }

    Expr tile_word(const Func &f, const SwizzledPanels &of, const Expr &of_word, const Expr &of_row, const std::vector<Expr> &rest) const {
        std::vector<Expr> place{b.warpgroups ? of.swizzled(of_word, of_row) : of_word, of_row};
        if (b.warpgroups) place.push_back(of.panel_of(of_word));
        place.insert(place.end(), rest.begin(), rest.end());
        return f(place);
    }
    Expr query_word(const Expr &of_word, const Expr &of_row) const {
        return tile_word(made.query_words, panels, of_word, of_row, {tile, head, batch});
    }
    Expr key_word(const Expr &of_word, const Expr &of_key, const Expr &at_step) const {
        return tile_word(made.key_words, panels, of_word, of_key, {at_step, tile, head, batch});
    }
    Expr value_word(const Expr &of_word, const Expr &of_key, const Expr &at_step) const {
        return tile_word(made.value_words, value_panels, of_word, of_key, {at_step, tile, head, batch});
    }

    void declare_fragments() {
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

    void declare_score() {
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
            const Expr element_key =
                b.warpgroups ? Halide::unsafe_promise_clamped(warp::opaque(plain_key), 0, in.keys + b.keys) : plain_key;
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

    /** The score with 16 channels more, the block of keys and values that is copied meanwhile named beside. */
    Expr warp_score(const Expr &before, const Expr &d) const {
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

    Expr group_score(const Expr &before, const Expr &d) const {
        const Expr ahead = step + (b.stages - 1);
        return warp::add_group_product(in.element, b.keys, before, key_tile * 4 + r, query_word(d * 8, made.warp / 4 * 64),
                                       key_word(d * 8, 0, step), panels.line_bytes(), {key_word(0, 0, ahead), value_word(0, 0, ahead)});
    }

    /** c tanh(s / c): by 1 - 2 / (1 + e^2x), and by its series where that would cancel. */
    Expr capped(const Expr &s) const {
        const Expr c = max(in.softcap, 1e-37f), x = s * (1.0f / c), square = x * x;
        const Expr power = warp::exp2(x * (2.0f * base2_scale(1.0f)));
        const Expr large = warp::multiply_add(c * -2.0f, warp::reciprocal(power + 1.0f), c);
        const Expr small = s * horner(square, {1.0f, -1.0f / 3, 2.0f / 15, -17.0f / 315, 62.0f / 2835});
        return warp::choose(cast<int32_t>(square < 0.09f), small, large);
    }

    /** Whether something is done to scores before softmax; then they are scaled first, otherwise with the logarithm's base. */
    Expr is_scored() const { return in.softcap > 0.0f || in.use_alibi != 0 || in.use_bias != 0; }

    /** By what a score is multiplied to be a base 2 logarithm. */
    Expr to_base2() const {
        // Beyond these bounds softmax is the arg max, or the plain mean, already, and what is 0 or infinite here would make NaN of 0.
        return clamp(select(is_scored(), 1.0f, abs(in.scale)) * base2_scale(in.temperature), 1e-37f, 1e37f);
    }

    // Of a thread's elements, then over the four lanes that share its rows.
    void declare_maximum() {
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

    static Expr reference_of(const Expr &largest) { return warp::choose(warp::equal(largest, masked_score()), 0.0f, largest); }

    CellBlock cells_of(const Expr &at_step) const {
        const Expr block_key = (first_block + at_step) * b.keys;
        return {batch, head, queries(), {block_key, block_key + b.keys - 1}};
    }

    /** Whether some row may not attend to some key of the block: by the mask, or by a bias of -inf. */
    Expr some_masked(const Expr &at_step) const { return !mask().allows_all(cells_of(at_step)) || in.use_bias != 0; }

    // Each lane looks at its share of the block; what one finds, all of the warp know.
    void declare_spoilt() {
        const Var &q = made.q, &g = made.g, &warp = made.warp;
        const int words = b.value_dim / 2;
        made.lane_words = RDom(0, 4, 0, words * b.keys / 128, "lane_words");
        made.lane_words.where(some_masked(step));
        // In the order in which they lie there, neighbours in neighbouring lanes.
        const Expr turn = made.lane_words.y * 4 + made.lane_words.x, nth = turn * 32 + lane_number();
        std::vector<Expr> place{nth % words, nth / words};
        if (b.warpgroups) {
            const int line = value_panels.words, lines_a_turn = 32 / line, turns_a_panel = b.keys / lines_a_turn;
            place = {lane_number() % line, turn % turns_a_panel * lines_a_turn + lane_number() / line, turn / turns_a_panel};
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

    Expr is_spoilt(const Expr &at_step) const { return made.spoilt(made.q, made.g, made.warp, at_step, tile, head, batch) != 0; }

    // One output after another, all in one loop: it hardly ever runs, and mustn't fill the kernel with code.
    void declare_marks() {
        const Var &q = made.q, &g = made.g, &warp = made.warp;
        made.marked = RDom(0, b.keys * slots.marked, "marked");
        // As a plain condition it would be looked at in each turn of the loop, of which there would be as many as ever.
        made.marked.where(warp::in_steps(made.marked, select(is_spoilt(step), b.keys * slots.marked, 0)));
        const Expr place = made.marked / b.keys, nth = made.marked % b.keys;
        const Expr element = place % 4, of_tile = place / 4 % b.row_tiles, value_tile = place / (4 * b.row_tiles);
        const Cell at =
            rows.cell(first_row + (warp * b.row_tiles + of_tile) * 16 + element / 2 * 8 + g, (first_block + step) * b.keys + nth);
        const Expr allowed = mask().allows(at);
        const Expr bias = in.bias(min(at.key, in.keys - 1), min(at.query, in.queries - 1), at.head, batch);
        const Expr unbiased = in.use_bias == 0 || warp::equal(branch(in.use_bias != 0, bias, 0.0f), masked_score()) == 0;
        const Expr value = value_word(value_tile * 4 + q, nth, step);
        const Expr mark = mark_of(in.element, half_of(value, element % 2)) << cast<uint32_t>(place % Slots::outputs_a_mark * 2);
        auto marks = [&]() -> Halide::FuncRef { return made.marks(slot, q, g, warp, step, tile, head, batch); };
        marks() = Expr(0u);
        marks() = marks() | select(allowed && unbiased && place / Slots::outputs_a_mark == slot, mark, Expr(0u));
    }

    enum Part { softmax_part, product_part, careful_part, parts };

    // Every step makes the same assignments, in this order: factors, maxima, references, weights; then outputs, in one of two ways. By
    // warpgroups sums of weights are rescaled before the weights, and after each word of weights take its two.
    void declare_state() {
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
        auto at = [&](const Expr &s) -> Halide::FuncRef { return made.state(s, q, g, warp, tile, head, batch); };
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
                                    b.warpgroups ? summed(nth, at, now) : Expr(0.0f), weight(nth, at, now));
        const Expr softmax_slot = select(i < slots.weight, i, is_sum, slots.sum + half_of_word(nth), slots.weight + nth);

        const Expr is_mark = i >= slots.assignments, word = clamp(i - slots.assignments, 0, slots.marks - 1);
        const Expr mark =
            reinterpret<float>(reinterpret<uint32_t>(at(slots.mark + word)) | made.marks(word, q, g, warp, now, tile, head, batch));
        const Expr target = select(part == softmax_part, softmax_slot, is_mark, slots.mark + word, slots.output + i % slots.outputs);
        at(target) = select(part == softmax_part, softmax, part == product_part, product(i, at, now), is_mark, mark,
                            output(i, at, finite_values(now)));
        if (b.warpgroups) join_sums();
    }

    /** After the last step: sums of the four lanes that share a row. */
    void join_sums() {
        made.sums = RDom(0, slots.halves, "sums");
        auto sum = [&]() -> Halide::FuncRef { return made.state(slots.sum + made.sums, made.q, made.g, made.warp, tile, head, batch); };
        Expr joint = sum();
        for (int lanes : {1, 2})
            joint = strict_float(joint + warp::shuffle_xor(joint, lanes));
        sum() = joint;
    }

    int assignments_a_word() const { return b.warpgroups ? 2 : 1; }

    /** Word w of the weights: half w % 2, keys 8 (w / 2) on of 16. */
    template <typename At> Expr weight(const Expr &w, const At &at, const Expr &now) const {
        return reinterpret<float>(warp::pack(in.element, unpacked_weight(w, 0, at, now), unpacked_weight(w, 1, at, now)));
    }

    Expr half_of_word(const Expr &w) const { return w / 4 % b.row_tiles * 2 + w % 2; }

    template <typename At> Expr unpacked_weight(const Expr &w, int which, const At &at, const Expr &now) const {
        const Expr part = w % 4, of_tile = w / 4 % b.row_tiles, keys16 = w / (4 * b.row_tiles) % slots.key_depth;
        const Expr score =
            made.score(part % 2 * 2 + which, made.q, made.g, keys16 * 2 + part / 2, of_tile, made.warp, now, tile, head, batch);
        // Subtracted first: the largest score weighs 1, however large it is.
        return warp::exp2(warp::subtract(score, at(slots.reference + of_tile * 2 + part % 2)) * to_base2());
    }

    /** The sum of the lane's weights of a half, with those of word w. */
    template <typename At> Expr summed(const Expr &w, const At &at, const Expr &now) const {
        return strict_float(at(slots.sum + half_of_word(w)) + (unpacked_weight(w, 0, at, now) + unpacked_weight(w, 1, at, now)));
    }

    /** Right factors of the products for 16 keys and a tile of values: register 0 or 1. */
    using Values = std::function<Expr(const Expr &keys16, const Expr &value_tile, int which)>;

    Values fragment_values(const Expr &now) const {
        return [=](const Expr &keys16, const Expr &value_tile, int which) {
            return made.value_fragment(value_tile % 2 * 2 + which, made.q, made.g, keys16, value_tile / 2, now, tile, head, batch);
        };
    }

    // With 0 for what isn't finite.
    Values finite_values(const Expr &now) const {
        const Values read = fragment_values(now);
        return [=](const Expr &keys16, const Expr &value_tile, int which) {
            return finite_halves(in.element, read(keys16, value_tile, which));
        };
    }

    template <typename At> Expr product(const Expr &i, const At &at, const Expr &now) const {
        if (!b.warpgroups) return output(i, at, fragment_values(now));
        const Expr keys16 = i / slots.outputs % slots.key_depth;
        return warp::add_group_product(in.element, b.value_dim, before(i, at), i % slots.outputs, weights(i, at),
                                       value_word(0, keys16 * 16, now), value_panels.line_bytes(), value_panels.bytes(b.keys));
    }

    /** Addition i to the outputs: all of them for the first 16 keys of the block, then all for the next. */
    template <typename At> Expr output(const Expr &i, const At &at, const Values &values_of) const {
        const Expr element = i % 4, value_tile = i / (4 * b.row_tiles) % slots.value_tiles, keys16 = i / slots.outputs % slots.key_depth;
        std::vector<Expr> values;
        const Expr ones(in.element.is_bfloat() ? 0x3f803f80u : 0x3c003c00u), column = min(value_tile, slots.value_columns - 1);
        for (int j = 0; j < 2; j++)
            values.push_back(select(value_tile == slots.value_columns, ones, values_of(keys16, column, j)));
        return warp::add_product(in.element, before(i, at), element, weights(i, at), values);
    }

    /** What addition i adds to, for the first 16 keys rescaled; and its weights. */
    template <typename At> Expr before(const Expr &i, const At &at) const {
        const Expr place = i % slots.outputs, element = i % 4, of_tile = i / 4 % b.row_tiles, keys16 = i / slots.outputs % slots.key_depth;
        const Expr old = at(slots.output + place);
        return select(keys16 == 0, old * at(slots.factor + of_tile * 2 + element / 2), old);
    }
    template <typename At> std::vector<Expr> weights(const Expr &i, const At &at) const {
        const Expr of_tile = i / 4 % b.row_tiles, keys16 = i / slots.outputs % slots.key_depth;
        std::vector<Expr> words;
        for (int j = 0; j < 4; j++)
            words.push_back(reinterpret<uint32_t>(at(slots.weight + (keys16 * b.row_tiles + of_tile) * 4 + j)));
        return words;
    }

    /** What the sink and the sum make of a row: {factor of its outputs, log-sum-exp}. */
    std::pair<Expr, Expr> closing(const Expr &maximum, const Expr &sum) const {
        const Expr sink = select(in.use_sinks != 0, in.sinks(head), masked_score()), log2_e = base2_scale(1.0f);
        // Over T, and no lower than the lowest float, which what is attended to never comes to look like something masked.
        const Expr over_t = warp::maximum(warp::multiply(maximum, to_base2() * 0.693147180559945f), -3.4028234e38f);
        const Expr tempered = warp::choose(warp::equal(maximum, masked_score()), masked_score(), over_t);
        const Expr joint = reference_of(warp::maximum(tempered, sink));
        const Expr kept = warp::exp2(warp::subtract(tempered, joint) * log2_e);
        const Expr total = warp::multiply_add(sum, kept, warp::exp2(warp::subtract(sink, joint) * log2_e));
        const Expr none = warp::equal(total, 0.0f);
        return {warp::choose(none, 0.0f, kept * warp::reciprocal(total)),
                warp::choose(none, masked_score(), joint + warp::log2(total) * 0.693147180559945f)};
    }

    // Where the parts of a row's state lie that a lane holds.
    struct RowPlace {
        Expr tile, warp, row_tile, half, g, q;
    };
    RowPlace place_of(const Expr &of_tile, const Expr &in_tile, const Expr &q) const {
        return {of_tile, in_tile / (16 * b.row_tiles), in_tile / 16 % b.row_tiles, in_tile / 8 % 2, in_tile % 8, q};
    }
    Expr state_at(const Expr &s, const RowPlace &row) const { return made.state(s, row.q, row.g, row.warp, row.tile, head, batch); }
    Expr maximum_at(const RowPlace &row) const { return state_at(slots.maximum + row.row_tile * 2 + row.half, row); }
    Expr output_at(const Expr &value_tile, const Expr &element, const RowPlace &row) const {
        return state_at(slots.output + (value_tile * b.row_tiles + row.row_tile) * 4 + element, row);
    }
    Expr sum_at(const RowPlace &row) const {
        if (b.warpgroups) return state_at(slots.sum + row.row_tile * 2 + row.half, row);
        return output_at(slots.value_columns, row.half * 2, row);
    }
    /** What values that aren't finite add to an output. */
    Expr spoilt_part(const Expr &value_tile, const Expr &element, const RowPlace &row) const {
        const Expr place = (value_tile * b.row_tiles + row.row_tile) * 4 + row.half * 2 + element;
        const Expr marks = reinterpret<uint32_t>(state_at(slots.mark + place / Slots::outputs_a_mark, row));
        return marked_value((marks >> cast<uint32_t>(place % Slots::outputs_a_mark * 2)) & cast<uint32_t>(3));
    }

    void declare_results() {
        const Var &q = made.q;
        const RowPlace here = place_of(token / b.rows(), token % b.rows(), q);
        made.factor(q, token, head, batch) = closing(maximum_at(here), sum_at(here)).first;
        const Expr factor = made.factor(q, token, head, batch);
        auto finished = [&](int odd) { return output_at(column, here.half * 2 + odd, here) * factor + spoilt_part(column, odd, here); };
        made.output(q, column, token, head, batch) = warp::pack(in.element, finished(0), finished(1));
        const RowPlace there = place_of(token / b.rows(), token % b.rows(), lane);
        made.lse(lane, token, head, batch) = closing(maximum_at(there), sum_at(there)).second;
    }

    void declare_partial() {
        const RowPlace at = place_of(tile, row, made.q);
        const Expr of_values = min(column, slots.value_columns - 1);
        const Expr output = output_at(of_values, at.half * 2 + odd, at) + spoilt_part(of_values, odd, at);
        made.partial(odd, made.q, column, row, tile, head, batch) =
            select(column < slots.value_columns, output, odd == 0, maximum_at(at), sum_at(at));
    }

    void declare_merge() {
        const Var &q = made.q;
        const RowInChunks place = row_in_chunks(rows, b.rows(), chunks, in.heads);
        auto partial = [&](const Expr &o, const Expr &of_q, const Expr &c, const Expr &of_chunk) {
            return made.partial(o, of_q, c, place.row, place.first_tile + of_chunk, place.kv_head, batch);
        };
        ChunkStates states;
        states.elements = {odd, q, column}, states.rows = {token, head, batch};
        states.maximum = [&](const Expr &of_chunk) { return partial(0, 0, slots.value_columns, of_chunk); };
        states.element = [&](const Expr &of_chunk) { return partial(odd, q, column, of_chunk); };
        const Interval keys = mask().possible_keys({batch, head, {token, token}, {Expr(0), in.keys - 1}});
        states.first = keys.min / in.keys_per_chunk, states.last = keys.max / in.keys_per_chunk;
        states.count = chunks, states.at_once = b.merged_at_once, states.base2_scale = to_base2();
        made.merge = merge_chunks(states);
        auto merged = [&](const Expr &o, const Expr &of_q, const Expr &c) { return made.merge.merged(o, of_q, c, token, head, batch); };
        const auto [factor, log_sum_exp] = closing(made.merge.joint(token, head, batch), merged(1, 0, slots.value_columns));
        made.closed(half, token, head, batch) = select(half == 0, factor, log_sum_exp);
        auto finished = [&](int o) { return merged(o, q, column) * made.closed(0, token, head, batch); };
        made.output(q, column, token, head, batch) = warp::pack(in.element, finished(0), finished(1));
        made.lse(lane, token, head, batch) = made.closed(1, token, head, batch);
    }
};

} // namespace

FragmentAttention fragment_attention(const FragmentInputs &inputs, const FragmentBlocking &blocking) {
    return Declaration(inputs, blocking).made;
}

} // namespace attune::dsl
