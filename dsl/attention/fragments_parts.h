// The parts that the declaration of attention in fragments is made of.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "dsl/attention/fragments.h"
#include "dsl/rows_of_head.h"
#include "dsl/swizzled_panels.h"

namespace attune::dsl {

/** Where the parts of a thread's state lie. A row tile has two halves of rows a thread: g and g + 8. */
struct FragmentSlots {
    explicit FragmentSlots(const FragmentBlocking &b)
        : halves(2 * b.row_tiles), key_depth(b.keys / 16), value_columns(b.value_dim / 8),
          value_tiles(value_columns + (b.warpgroups ? 0 : 1)), largest(0), factor(halves), reference(2 * halves), limit(3 * halves),
          sum(4 * halves), weight(b.warpgroups ? sum + halves : sum), weights(4 * key_depth * b.row_tiles), output(weight + weights),
          outputs(4 * value_tiles * b.row_tiles), mark(output + outputs), marked(4 * value_columns * b.row_tiles),
          marks((marked + outputs_a_mark - 1) / outputs_a_mark), beyond(mark + marks), count(beyond + 1), assignments(outputs * key_depth),
          rescaled(weight + outputs) {}

    static constexpr int outputs_a_mark = 16; // two bits each

    const int halves, key_depth, value_columns; // tiles of 8 values
    const int value_tiles;                      // of products: but by warpgroups one more, of ones, which makes the sums of the weights
    const int largest, factor;                  // where a step rescales: the largest score so far; what the old sums are multiplied by
    const int reference, limit;                 // the score that weighs 1; the highest that needs no other, -inf before the first
    const int sum;                              // by warpgroups: of the weights; until the end of those that this lane holds
    const int weight, weights;                  // words of the left factor of the second product
    const int output, outputs;
    const int mark, marked, marks; // words of two bits for each of `marked` outputs: what values that aren't finite make of it
    const int beyond;              // whether the step rescales: bits of an i32
    const int count, assignments;  // slots; and how often a step adds to outputs: to each once for every 16 keys
    const int rescaled;            // how many assignments rescaling takes
};

/** Declares it, stage by stage: each reads what those before it declared. */
class FragmentDeclaration {
public:
    FragmentDeclaration(const FragmentInputs &inputs, const FragmentBlocking &blocking);

    FragmentAttention made;

private:
    using Expr = Halide::Expr;
    using Func = Halide::Func;
    using Var = Halide::Var;
    using Interval = Halide::Internal::Interval;

    const Var r{"r"}, word{"word"}, key_tile{"key_tile"}, depth{"depth"}, half{"half"}, slot{"slot"}, column{"column"}, odd{"odd"};
    const FragmentInputs &in;
    const FragmentBlocking &b;
    const FragmentSlots slots;
    const SwizzledPanels panels, value_panels; // by warpgroups
    const RowsOfHead rows;
    const Expr chunks, first_row;  // how many chunks there are; and the tile's first row
    Expr first_key, last_key;      // that some query of the tile may attend to, both ends included
    Expr first_block, block_count; // which blocks hold them
    Expr first_run, gap;           // where they lie in two runs: how many blocks the first has, and how many are left out after it

    Expr lane_number() const { return made.g * 4 + made.q; }
    Interval queries() const;
    Mask mask() const;
    void bound_blocks();
    void bound_two_runs(const std::vector<Interval> &runs);
    Interval blocks_of(const Interval &keys) const; // from min to before max
    Expr end_of_chunk() const;                      // split: the block after its last
    /** The block that a step looks at. */
    Expr block_at(const Expr &at_step) const;
    void name_funcs();

    // Tiles of words in shared memory, and of them fragments.
    using Value = std::function<Expr(const Expr &of_word)>;
    void declare_words();
    void declare_fragments();
    void define_tile(Func &f, const SwizzledPanels &of, const Var &of_row, const std::vector<Var> &rest, const Value &value);
    Expr tile_word(const Func &f, const SwizzledPanels &of, const Expr &of_word, const Expr &of_row, const std::vector<Expr> &rest) const;
    Expr query_word(const Expr &of_word, const Expr &of_row) const;
    Expr key_word(const Expr &of_word, const Expr &of_key, const Expr &at_step) const;
    Expr value_word(const Expr &of_word, const Expr &of_key, const Expr &at_step) const;

    // Scores. Products name the block of keys and values that is copied meanwhile, too.
    enum ScorePart { scale_part, cap_part, alibi_part, bias_part, own_part, score_parts };
    void declare_score();
    /** What element `element` of a lane in a tile of keys is the score of. */
    Cell element_cell(const Expr &element, const Expr &tile_of_keys, const Expr &g) const;
    /** The score after one of the parts. */
    Expr changed_score(const Expr &s, const Expr &part, const Cell &cell) const;
    void declare_maximum(); // of a thread's elements
    Expr lane_maximum(const Expr &of_half, const Expr &at_step) const;
    Expr maximum(const Expr &of_half, const Expr &at_step) const; // over the four lanes that share its rows
    /** The score with 16 channels more. */
    Expr warp_score(const Expr &before, const Expr &d) const;
    Expr group_score(const Expr &before, const Expr &d) const;
    /** c tanh(s / c): by 1 - 2 / (1 + e^2x), and by its series where that would cancel. */
    Expr capped(const Expr &s) const;
    /** Whether something is done to scores before softmax; then they are scaled first, otherwise with the logarithm's base. */
    Expr is_scored() const {
        return in.score ? Halide::Internal::const_true() : in.softcap > 0.0f || in.use_alibi != 0 || in.use_bias != 0;
    }
    /** By what a score is multiplied to be a base 2 logarithm. */
    Expr to_base2() const;
    static Expr reference_of(const Expr &largest);
    /** The score that weighs 1; -inf as long as there was none. */
    static Expr maximum_of(const Expr &reference, const Expr &limit);

    // Values that aren't finite.
    void declare_spoilt();
    void declare_marks();
    CellBlock cells_of(const Expr &at_step) const;
    /** Whether some row may not attend to some key of the block: by the mask, or by a bias of -inf. */
    Expr some_masked(const Expr &at_step) const;
    Expr is_spoilt(const Expr &at_step) const;

    // The state.
    enum Part { limit_part, rescaling_part, weight_part, product_part, careful_part, parts };
    void declare_state();
    /** Whether some row of the warp has a score beyond its limit. */
    Expr is_beyond(const Expr &now) const;
    /** Assignment i of a step that rescales. */
    Expr rescaled(const Expr &i, const Expr &now) const;
    /** After the last step: what values that aren't finite make of the outputs. Hardly any rows have some. */
    void add_marked();
    /** After the last step: sums of the four lanes that share a row. */
    void join_sums();
    Halide::FuncRef at(const Expr &s) const; // a slot of the state
    int assignments_a_word() const { return b.warpgroups ? 2 : 1; }
    /** Word w of the weights: half w % 2, keys 8 (w / 2) on of 16. */
    Expr weight(const Expr &w, const Expr &now) const;
    Expr half_of_word(const Expr &w) const { return w / 4 % b.row_tiles * 2 + w % 2; }
    Expr unpacked_weight(const Expr &w, int which, const Expr &now) const;
    /** The sum of the lane's weights of a half, with those of word w. */
    Expr summed(const Expr &w, const Expr &now) const;
    /** Right factors of the products for 16 keys and a tile of values: register 0 or 1. */
    using Values = std::function<Expr(const Expr &keys16, const Expr &value_tile, int which)>;
    Values fragment_values(const Expr &now) const;
    Values finite_values(const Expr &now) const; // with 0 for what isn't
    /** Addition i to the outputs: all of them for the first 16 keys of the block, then all for the next. */
    Expr product(const Expr &i, const Expr &now) const;
    Expr output(const Expr &i, const Values &values_of) const;
    /** What addition i adds to; and its weights. */
    Expr before(const Expr &i) const { return at(slots.output + i % slots.outputs); }
    std::vector<Expr> weights(const Expr &i) const;

    // Results.
    void declare_results();
    void declare_partial();
    void declare_merge();
    /** What the sink and the sum make of a row: {factor of its outputs, log-sum-exp}. */
    std::pair<Expr, Expr> closing(const Expr &maximum, const Expr &sum) const;
    struct RowPlace { // where the parts of a row's state lie that a lane holds
        Expr tile, warp, row_tile, half, g, q;
    };
    RowPlace place_of(const Expr &of_tile, const Expr &in_tile, const Expr &q) const;
    Expr state_at(const Expr &s, const RowPlace &row) const;
    Expr maximum_at(const RowPlace &row) const;
    Expr output_at(const Expr &value_tile, const Expr &element, const RowPlace &row) const;
    Expr sum_at(const RowPlace &row) const;
};

} // namespace attune::dsl
