// Attention: softmax(mask(bias(softcap(scale q k^T))) / T) v, as the fold of the softmax state over blocks of keys.
//
// One declaration serves every schedule. What a schedule may choose about its shape is the Blocking: into what tiles the queries
// and what blocks the keys are cut. It never changes what is computed, rounding aside.
#pragma once

#include <optional>

#include <Halide.h>

#include "dsl/mask.h"

namespace attune::dsl {

/** The problem: N queries, M keys, D channels in q and k, Dv in v. Axes as Halide orders them: (channel, token, head, batch). */
struct AttentionInputs {
    Halide::Func query, key, value; // f32 once read
    Halide::Type output_type = Halide::Float(32);
    Halide::Expr queries, keys;        // N >= 1, M >= 1
    Halide::Expr head_dim, value_dim;  // D, Dv
    Halide::Expr heads_per_group;      // query heads that share a key/value head: query head h reads h / heads_per_group
    KeyIntervals intervals;            // the run-time mask
    std::optional<Mask> mask;          // one that is compiled in: both must allow
    Halide::Func attend;               // u8 (key, query, head, batch); read iff use_attend
    Halide::Func bias;                 // f32 (key, query, head, batch); read iff use_bias
    Halide::Expr use_attend, use_bias; // i32, zero or not
    Halide::Expr scale;                // of q k^T, any finite value
    Halide::Expr softcap;              // > 0, or 0 for none
    Halide::Expr temperature;          // > 0

    /** Whether the tensors given let the query attend. */
    Halide::Expr tensors_allow(const Cell &cell) const;
};

struct Blocking {
    int rows_per_tile = 1;
    int tiles_per_task = 1;
    Halide::Expr keys_per_block = 1; // a multiple of keys_per_panel
    int keys_per_panel = 1;          // what is skipped, or masked, at once
    int value_step = 1;              // v is padded with zeros to a multiple of this many channels

    Halide::Expr panels_per_block() const { return keys_per_block / keys_per_panel; }
};

/** Which keys a tile, and a task, must look at: from the masks. Key positions; `first` included, `end` not. */
struct KeyRanges {
    Halide::Func gap_begin, gap_end;   // (row, gap, tile, batch): the run-time mask again, as what it leaves out
    Halide::Func first, end;           // (tile, head, batch): no row of the tile attends to anything outside
    Halide::Func full_first, full_end; // (tile, head, batch): the run-time mask lets every row attend to all in between
    Halide::Func task_first, task_end; // (task, head, batch)
    Halide::RDom rows, gaps, tiles;
};

/** Copies of what the inner loops read, laid out for them. */
struct Operands {
    Halide::Func query_rows; // (dim, row, tile, head, batch): read as the caller stores it, and scaled
    Halide::Func query;      // (row, dim, tile, head, batch): rows side by side
    Halide::Func key;        // (dim, key, block, task, head, batch)
    Halide::Func value;      // (dim, key, block, task, head, batch), zero past Dv
    Halide::Func value_lane; // (dim, block, task, head, batch): largest bits of |v|, by lane
    Halide::Func value_bits; // (block, task, head, batch): over the lanes; at least `infinite_bits` iff some v is Inf or NaN
    Halide::RDom keys, values, value_steps, value_lanes;
    static constexpr int32_t infinite_bits = 0x7f800000;
};

/** The scores of a tile x block, transposed: rows of the tile side by side. -inf where masked. */
struct Scores {
    Halide::Func dot;    // (row, lane, panel, tile, block, head, batch)
    Halide::Func masked; // (row, key, tile, block, head, batch), in stages: see below
    enum Stage { store, cap, bias, attend, intervals, compiled };
    Halide::RDom dims, store_keys, cap_keys, bias_keys, attend_keys, interval_keys, compiled_keys;
};

/** The softmax state of a tile over one block. */
struct BlockState {
    Halide::Func lane_maximum; // (row, lane, tile, block, head, batch)
    Halide::Func maximum;      // (row, tile, block, head, batch)
    Halide::Func weight;       // (row, key, tile, block, head, batch): e^((s - maximum) / T)
    Halide::Func lane_sum;     // (row, lane, tile, block, head, batch)
    Halide::Func sum;          // (row, tile, block, head, batch)
    Halide::Func output;       // (row, dim, tile, block, head, batch): sum of weight * v; a stage for all-finite v, and a careful one
    enum Stage { finite, careful };
    Halide::RDom maximum_panels, sum_panels, lanes, weight_keys, finite_keys, careful_keys;
};

/** The fold over blocks, and what comes of it. */
struct Fold {
    Halide::Func state;   // (row, lane, tile, head, batch): lanes as in dsl::state
    Halide::RDom merge;   // x: lanes, y: blocks
    Halide::Func starved; // (tile, head, batch): whether some row of the tile has sum 0
    Halide::Func attends; // (row, tile, head, batch): for tiles with a starved row, whether the row may attend to any key at all
    Halide::RDom rows, cells;
    Halide::Func result; // (row, lane, tile, head, batch): lanes 0 .. Dv - 1 the output, lane Dv the log-sum-exp
};

struct Attention {
    Blocking blocking;
    KeyRanges ranges;
    Operands operands;
    Scores scores;
    BlockState partial;
    Fold fold;
    Halide::Expr padded_value_dim; // Dv rounded up to value_step
    Halide::Func output_rows;      // (row, dim, tile, head, batch): the output, rows side by side
    Halide::Func output;           // (dim, token, head, batch)
    Halide::Func lse;              // (token, head, batch)
};

/** Declares attention. A row that may attend to no key gives zeros and log-sum-exp -inf. What is masked never reaches a result,
 * NaN or Inf though it be; a NaN that is attended to does. */
Attention attention(const AttentionInputs &inputs, const Blocking &blocking);

} // namespace attune::dsl
