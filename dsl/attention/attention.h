// Attention: dropout(softmax(mask(biases(softcap(scale q k^T))) / T)) v, as the fold of the softmax state over blocks of keys.
//
// One declaration serves every schedule. What a schedule may choose about its shape is the Blocking: into what tiles the queries
// and what blocks the keys are cut. It never changes what is computed, rounding aside.
#pragma once

#include <functional>
#include <optional>

#include <Halide.h>

#include "dsl/dropout.h"
#include "dsl/mask.h"
#include "dsl/position.h"
#include "dsl/products.h"
#include "dsl/score.h"

namespace attune::dsl {

/** Channel `dim` of a row of q or k with its position: rotary embedding, say. */
using Positioning = std::function<Halide::Expr(const PositionedInput &row, const Halide::Expr &dim)>;

/** Keys and values by page: one who reads all channels of a key looks its page up once. */
struct Pages {
    Halide::Expr size;                   // tokens of a page
    Halide::Expr several;                // whether the keys of an item lie in more than one page; if not, a place is the token
    Halide::Func page;                   // i32 (token, batch): the page that holds a key and its value
    Halide::Func place;                  // i32 (token): which of the page's tokens they are
    Halide::Func key, value;             // (channel, place, head, page), as stored
    Halide::Func key_scale, value_scale; // f32 (place, head, page): what those of int8 are to be multiplied with; else not defined
    Halide::Expr scales_contiguous;      // whether those of a page's tokens lie side by side; only where there are scales

    /** From a token of a page to the next, and from a page to the next, in memory. */
    struct Strides {
        Halide::Expr place, page; // elements
    };
    std::optional<Strides> key_strides, value_strides;

    bool scaled() const { return key_scale.defined(); }

    /** A token's channel of `key` or `value`, where its page has it. */
    Halide::FuncRef stored(const Halide::Func &by_page, const Halide::Expr &channel, const Halide::Expr &token, const Halide::Expr &kv_head,
                           const Halide::Expr &batch) const {
        return by_page(channel, place(token), kv_head, page(token, batch));
    }

    bool have_known_distances() const { return key_strides && value_strides; }

    /** Whether they are what is multiplied, at distances that are known. */
    bool as_stored() const { return have_known_distances() && !scaled(); }

    /** `several`, which an item's keys don't where none is given. */
    Halide::Expr in_several() const { return several.defined() ? several : Halide::Internal::const_false(); }
};

/** The problem: N queries, M keys, D channels in q and k, Dv in v. Axes as Halide orders them: (channel, token, head, batch). */
struct AttentionInputs {
    Halide::Func query, key, value; // f32, f16 or bf16
    Pages pages;                    // where keys and values lie
    Halide::Type output_type = Halide::Float(32);
    Halide::Expr queries, keys;       // N >= 1, M >= 1
    Halide::Expr head_dim, value_dim; // D, Dv
    Halide::Expr heads, batches;      // query heads, and batch items; read only where a task asks for the memory of the next
    Halide::Expr heads_per_group;     // query heads that share a key/value head: query head h reads h / heads_per_group
    KeyIntervals intervals;           // the run-time mask
    std::optional<Mask> mask;         // one that is compiled in: both must allow
    Halide::Func attend;              // u8 (key, query, head, batch); read iff use_attend
    Halide::Func bias;                // f32 (key, query, head, batch); read iff use_bias
    Halide::Func relative;            // f32 (i - j + M - 1, head, batch), added to the score; read iff use_relative
    Halide::Func sinks;               // f32 (head): one more logit each, not divided by T; read iff use_sinks
    Halide::Expr use_attend, use_bias, use_relative, use_sinks; // i32, zero or not
    Halide::Expr attend_contiguous, bias_contiguous;            // whether keys lie side by side in the tensor
    Halide::Expr rows_alike;                                    // whether all rows of a head share their intervals in memory
    std::optional<ScoreFunction> score;                         // one that is compiled in, after all biases
    std::optional<Positioning> positioning;                     // of q and k, compiled in
    Halide::Func query_position, key_position;                  // f32 (channel, plane, token, batch); read by `positioning`
    Halide::Func offsets;                                       // i32 (batch): the position of query 0, which `positioning` is told
    Halide::Expr scale;                                         // of q k^T, any finite value
    Halide::Expr softcap;                                       // > 0, or 0 for none
    Halide::Expr temperature;                                   // > 0
    Dropout dropout;
    bool count_panels = false; // declares Attention::counts

    /** Whether anything but the mask comes between a score and its product: soft cap, biases, or a score that is compiled in. */
    Halide::Expr changes_scores() const;
    /** Whether the tensors given let the query attend. */
    Halide::Expr tensors_allow(const Cell &cell) const;
    /** That, and whether a mask that is compiled in does. */
    Halide::Expr beside_intervals_allow(const Cell &cell) const;
    /** Channel d of a query or key as it enters the product: in f32, with its position. */
    Halide::Expr query_channel(const Halide::Expr &d, const Halide::Expr &token, const Halide::Expr &head, const Halide::Expr &batch) const;
    Halide::Expr key_channel(const Halide::Expr &d, const Halide::Expr &token, const Halide::Expr &query_head,
                             const Halide::Expr &batch) const;
};

struct Blocking {
    int rows_per_tile = 1;
    int tiles_per_task = 1;          // at most: see share(); a power of 2
    Halide::Expr keys_per_block = 1; // a multiple of keys_per_panel
    int keys_per_panel = 1;          // what is skipped, or masked, at once
    int first_rows = 0;              // of a tile: what only these, or only the others, attend to is multiplied for them alone; 0: for all
    int few_keys = 0;                // of a panel: where the tile has no more left, only these are multiplied with queries; 0: all are
    int values_at_once = 1;          // packed values of a panel that a pass multiplies; with few_keys none begins behind the last key
    int channels_at_once = 1;        // of q and k that a pass of the scores' products multiplies; one of them asks for what is read later
    int value_step = 1;              // channels of v that are merged in one step; v is padded with zeros to a multiple
    int value_lanes = 1;             // channels of v looked at as one vector, where they divide Dv or it isn't compiled in; else a step is
    Products products = {};          // with pairs keys_per_panel is even
    Rounding rounding = {};          // of results
    // Packed keys of v that are copied at once, of each channel side by side; divides panels and blocks. If more than one, what of v is Inf
    // or NaN is copied as 0 and added to the output by a loop of its own: products of tiles don't add up in an order that it could follow.
    int values_together = 1;
    bool scores_in_memory = false; // products of q and k are added up where scores are stored, not in Scores::dot
    // Whether maxima are taken as scores are made, where nothing changes them, and sums as weights are, by loops that the schedule joins.
    bool maxima_with_scores = false, sums_with_weights = false;
    // Not with pairs; of f32: whether scores that nothing changes are made as exponents of 4, which saves weights a product. See
    // scored_by_exponent().
    bool scores_as_exponents = false;
    // Of pairs: whether weights are made two at a time, by word_powers(), of rows whose exponents are small enough.
    bool weights_as_words = false;
    int lanes_apart = 0;             // keys of a panel whose maxima, and packed ones whose sums, are kept apart; divides both; 0: all
    bool reads_in_place = false;     // keys and values are read where the caller has them, where they lie as their copies would
    bool asks_ahead = false;         // each task asks for the memory of the next
    bool asks_with_products = false; // the next block's keys and values are asked for while this one's keys are multiplied
    bool side_outputs = false;       // log-sum-exp and counts are stored as side outputs, by these numbers
    enum SideOutput { log_sum_exp, panel_counts };
    Halide::Expr shared_tiles = {};   // of a task; undefined: tiles_per_task
    Halide::Expr heads_at_a_time = 1; // that a thread takes, where a task is all of a head

    /** Lets a task have fewer tiles: a power of 2, the most that have so many rows, and one at least. Of heads with fewer tiles than that a
     * thread takes as many at a time as have so many rows, and most_cells_at_a_time at most, but no more than most_heads_at_a_time. */
    void share(const Halide::Expr &rows_at_a_time, const Halide::Expr &queries, const Halide::Expr &keys);
    static constexpr int most_heads_at_a_time = 8, most_cells_at_a_time = 1 << 17;
    Halide::Expr tiles_of_task() const;
    Halide::Expr task_of(const Halide::Expr &tile) const;

    Halide::Expr panels_per_block() const { return keys_per_block / keys_per_panel; }
    /** Keys that share a counter of dropout with one of a panel, wherever that begins. */
    int kept_per_panel() const {
        const int of_counter = Dropout::keys_of_counter;
        return (keys_per_panel + 2 * (of_counter - 1)) / of_counter * of_counter;
    }
    /** Keys from a block's first on that its panels may hold: see first_panel_key(). */
    Halide::Expr keys_of_panels() const { return keys_per_block + keys_per_panel; }
};

/** Which keys a tile, and a task, may have to look at: from the bounds of the masks. Key positions; `first` included, `end` not. */
struct KeyRanges {
    /** Components of the Tuples below. (Tuples, since each realisation costs the compiler a walk over the whole kernel.) */
    enum Bound { first, end, full_first, full_end, panels_end = full_first, first_past_keys = full_end };
    Halide::Func gap;       // (row, gap, tile, head, batch): first and end of what the run-time mask leaves out
    Halide::Func gap_range; // (gap, tile, head, batch): the least first and the greatest end of a gap over the tile's rows
    // (tile, head, batch): no row attends to anything outside of first to end, and the run-time mask lets every row attend to all of
    // full_first to full_end.
    Halide::Func of_tile;
    // (task, head, batch): first and end over its tiles; `panels_end`, where the last of their panels ends; and `first_past_keys`, where
    // the first of those that go past the last key begins, or how many keys there are if none does.
    Halide::Func of_task;
    Halide::RDom rows, gaps, tiles;
};

/** Which panels of a block a tile computes: those in which some cell may be attended, and no others. */
struct Panels {
    /** The boolean tensor, with rows of the tile as bits. */
    struct Attending {
        static constexpr int rows_per_word = 16, keys_at_once = 64;
        static constexpr int words_of(int rows) { return (rows + rows_per_word - 1) / rows_per_word; }
        /** The bits of so many rows, or of all that a word has. */
        static constexpr int whole_word(int rows) { return (1 << (rows < rows_per_word ? rows : rows_per_word)) - 1; }
        Halide::Func words; // u16 (key, word, tile, block, head, batch): bit r is row 16 * word + r
        Halide::RDom keys;  // (key, vector)
        Halide::RDom tail;  // of fewer keys than a vector
    };
    /** A tensor of cells, as the caller stores it and with rows of the tile side by side. */
    struct Turned {
        static constexpr int width = 4, at_once = 4; // keys of a rectangle, rectangles at once
        Halide::Func lines;                          // (key, row, rectangle, tile, block, head, batch): rectangles of a few keys
        Halide::Func rows;                           // (row, key, tile, block, head, batch)
        Halide::RDom keys;
    };
    Attending attend;
    Turned bias;                // the additive tensor
    Halide::Func facts;         // (panel, tile, block, head, batch): what bounds show of the panel
    Halide::Func reach;         // (panel, tile, block, head, batch): how many rows the run-time mask reaches the panel of, or covers it
    Halide::Func joined;        // (panel, ...): bits of rows that any of its keys, and that all of them, may be attended by
    Halide::Func allowed_cells; // (panel, ...): how many cells all masks together allow, where bounds leave it open
    Halide::Func kind;          // (panel, ...): of Kind
    Halide::Func list;          // (slot, ...): see Slot
    Halide::RDom reached;       // (row, interval)
    Halide::RDom cells;         // (row, keys, interval)
    Halide::RDom listing;       // (what is done, panel, kind)
    /** Partly masked; and that for the tile's first rows, and wholly for the others; and the other way round. */
    enum Kind { empty, full, partial, partial_first, partial_rest };
    enum Joined { any, all };
    /** What the list has at each slot: how many panels are listed; how many of them are full, how many more are partial for all rows, and
     * for the first rows, each counted from the beginning; then, from first_listed on, the key of the block that each panel begins with,
     * kind after kind. */
    enum Slot { listed_count, full_count, both_end, first_end, first_listed };
};

/** What the inner loops read, laid out for them: copies, or where the caller has it. */
struct Operands {
    // Packed: `dim` counts what Products packs of channels in q and k, `key` what it packs of keys in v. Of numbers in parts each has one
    // more axis, the part, the last.
    Halide::Func query_lines; // (dim, row, tile, head, batch): channels side by side, as the caller stores them
    Halide::Func query;       // (row, dim, tile, head, batch): rows side by side; see scaled_query()
    Halide::Func key;         // (dim, key, block, task, head, batch)
    // f32 (key, block, task, head, batch), NaN where it isn't finite: only where scores get it, see scaled_by_key(), and only where v of
    // int8 is rounded to bf16.
    Halide::Func key_scale, value_scale;
    // Only where some may be read in place: where they are.
    Halide::Func place;            // (block, task, head, batch), by Place
    Halide::Func panel_place;      // u64 (slot, tile, block, head, batch), by key_origin and value_origin: of a panel, or of its copy
    Halide::Func value_words;      // (dim, key, block, task, head, batch): v packed; only where packed keys lie side by side
    Halide::Func value;            // (dim, key, block, task, head, batch), zero past Dv
    Halide::Func value_lane;       // (dim, block, task, head, batch): largest bits of |v|, by lane
    Halide::Func value_bits;       // (block, task, head, batch): over the lanes; at least `infinite_bits` iff some v is Inf or NaN
    Halide::RDom value_steps;      // (vector, key)
    Halide::RDom given_steps;      // the same, of values in place; update 1 of value_lane where values_may_be_in_place
    int value_lanes = 1;           // of value_lane
    Halide::Expr stored_dims;      // of q and k, packed: of pairs in whole vectors, zeros past D
    Halide::Expr stored_value_dim; // of v: Dv in whole steps; where it isn't compiled in, also in whole vectors that are looked at
    // Only of numbers in parts: as value_lane and value_bits, of k, and for each key (key, block, task, head, batch), where some has a
    // number from `large_bits` on; of q (row, tile, head, batch), and over the rows (tile, head, batch).
    Halide::Func key_lane, key_bits, each_key_bits, query_bits, tile_query_bits;
    Halide::RDom key_steps, key_words, query_words, query_rows;
    static constexpr int32_t infinite_bits = 0x7f800000;
    int32_t least_spoilt_bits = infinite_bits; // of |v| as it is given: what is Inf or NaN as it is multiplied
    // 2^60, as bits, and 2^-80: what tiles take for 0 of numbers in parts, below 2^-126, is less than 2^-50 of a score if q and k are
    // smaller than the one, and less than 2^-30 of the largest value if that is larger than the other.
    static constexpr int32_t large_bits = (127 + 60) << 23, small_bits = (127 - 80) << 23;
    bool keys_may_be_in_place = false, values_may_be_in_place = false; // as their copies would
    /** The address (u64) of the block's first key, or 0 where all are copied, and that of its value; the first of the block's keys (i32)
     * that is copied, and the first whose value is. */
    enum Place { key_origin, value_origin, first_copied_key, first_copied_value };
};

/** Memory of what is read later. */
struct MemoryAhead {
    // Of the next task, asked for a few tokens with each panel: queries; and keys and values, where they aren't asked for as below.
    Halide::Func tokens; // i32 (tile, block, head, batch): how many of them with each panel
    Halide::Func asked;  // i32 (slot, tile, block, head, batch): 0; update 0 asks for queries, 1 for keys and values
    // Only where Blocking::asks_with_products. u64 (slot, tile, block, head, batch): the addresses of keys, and of values, a block further
    // on or of the next task, of which those products with the panel ask for a panel's.
    Halide::Func block_ahead;
};

/** The scores of a tile x block, transposed: rows of the tile side by side. Only listed panels, one after another in their list's order.
 * -inf where masked. What is left of the scale is to come, or more is in than that (scale_left()). */
struct Scores {
    Halide::Func dot;             // (row, lane, slot, tile, block, head, batch); only where they aren't made in place
    Halide::Func relative_window; // (distance, tile, block, head, batch): what of `relative` the tile x block needs
    // (row, which, tile, block, head, batch): the soft cap, its reciprocal, and what a score is multiplied with before a stage, of pairs
    // that are rounded. In memory, of each row, since what is the same for all is held in registers through the products, which have none
    // left.
    Halide::Func constants;
    enum Constant { cap_size, cap_reciprocal, before_cap, before_relative, before_bias, before_own, constant_count };
    Halide::Func masked; // (row, slot key, tile, block, head, batch), in stages: see below
    enum Stage { multiply, remultiply, scale, cap, relative, bias, own, attend, intervals };
    struct Update {
        Stage stage;
        Halide::RDom keys;
    };
    // Of `masked`, whose definition is the product. In order: `multiply` only where it is made in place, by keys (lane, term of the
    // product, slot); `remultiply` of numbers in parts, likewise, of rows and keys with large numbers: it makes their scores anew, one
    // product after the other, since of Inf the products of parts are NaN; `scale` by key, where the definition doesn't; `own` only where
    // there is such a score, `attend` with a mask that is compiled in.
    std::vector<Update> updates;
    Halide::Expr unchanged; // how many slots, from the first on, no stage but the product changes
    Halide::RDom dims;
};

/** The softmax state of a tile over one block. */
struct BlockState {
    Halide::Func lane_maximum; // (row, lane, tile, block, head, batch)
    Halide::Func maximum;      // (row, tile, block, head, batch)
    Halide::Func exponent;     // (row, which, tile, block, head, batch): of pairs, by Exponent
    Halide::Func any_wide;     // (tile, block, head, batch): not 0 where words don't do for some row; only with weights_as_words
    Halide::Func weight;       // (row, slot key, tile, block, head, batch): e^((s - maximum) / T), packed; of pairs sqrt 2 times that
    Halide::Func lane_sum;     // (row, lane, tile, block, head, batch): of the weights as packed
    Halide::Func sum;          // (row, tile, block, head, batch)
    // (row, place, tile, block, head, batch): dropout's 1 or 0, only where some stage reads it: for each slot Blocking::kept_per_panel() of
    // keys, from the one on that the panel's first shares a counter with.
    Halide::Func kept;
    Halide::Func kept_weight; // as weight, 0 where dropped: with dropout, and only where products of tiles are added up in memory
    Halide::Func output;      // (row, dim, tile, block, head, batch): sum of weight * v
    Halide::RDom unchanged_slots, maximum_slots, sum_slots, lanes, sum_lanes, exponent_rows; // the first where maxima_with_scores
    // The stages of `output`, in order. All v finite, a stage for each part of the rows; that and dropout, undefined where there is
    // kept_weight; some v Inf or NaN.
    std::vector<Halide::RDom> finite_keys;
    Halide::RDom dropped_keys, careful_keys;
    enum Exponent { row_scale, row_reference, word_scale, word_offset }; // the last two with weights_as_words
};

/** The fold over blocks, and what comes of it. */
struct Fold {
    Halide::Func state;   // (row, lane, tile, head, batch): lanes as in dsl::state
    Halide::RDom merge;   // x: the lanes of a step, y: steps of value_step channels, the first with all other lanes before, z: blocks
    Halide::Func starved; // (tile, head, batch): whether some row of the tile has sum 0
    Halide::Func attends; // (row, tile, head, batch): for tiles with a starved row, whether the row may attend to any key at all
    Halide::RDom rows, cells;
    Halide::Func closing; // (row, which, tile, head, batch): factor of the channels, and log-sum-exp
    Halide::Func result;  // (row, lane, tile, head, batch): the output; without side outputs also log-sum-exp, and panel counts
    enum Closing { factor, log_sum_exp, closing_count };
};

struct Attention {
    AttentionInputs inputs;
    Blocking blocking;
    KeyRanges ranges;
    Panels panels;
    Operands operands;
    MemoryAhead ahead; // only where Blocking::asks_ahead
    Scores scores;
    BlockState partial;
    Fold fold;
    Halide::Expr padded_value_dim; // Dv rounded up to value_step
    Halide::Func output;           // (dim, token, head, batch)
    Halide::Func lse;              // (token, head, batch)
    Halide::Func counts;           // i32 (which, tile, head, batch), iff count_panels: panels computed, and those whose mask was evaluated

    /** By the numbers that Blocking gives them. */
    std::vector<Halide::Func> side_outputs() const { return {lse, counts}; }
};

/** Declares attention. A row that may attend to no key gives zeros and log-sum-exp -inf. What is masked never reaches a result,
 * NaN or Inf though it be; a NaN that is attended to does. */
Attention attention(const AttentionInputs &inputs, const Blocking &blocking);

} // namespace attune::dsl
