// Attention in the fragments of matrix instructions: the fold of the softmax state over blocks of keys (see dsl/attention/attention.h),
// with every number placed in a lane of a warp. A warp holds 16 rows of queries a row tile; of their scores, weights and outputs each lane
// holds the elements that dsl/warp.h gives it, so that the weights of one product are the left factor of the next without leaving registers
// (Dao, arXiv 2307.08691, section 3).
//
// Split, the keys are cut into chunks, each of which leaves a softmax state, and the states of all chunks then merge (split-KV decoding, as
// in dsl/decode/decode.h). The rows of a tile are then the (query, query head) pairs of a key/value head, so that each key and value is
// read once for all of them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <Halide.h>

#include "dsl/chunk_merge.h"
#include "dsl/mask.h"
#include "dsl/score.h"

namespace attune::dsl {

/** N queries, M keys. Words hold two channels; axes are (word, token, head, batch). Split, the mask is the same for all heads. */
struct FragmentInputs {
    Halide::Type element;                                          // bf16 or f16
    Halide::Func query, key, value;                                // u32
    Halide::Expr queries, keys, heads;                             // N >= 1, M >= 1, query heads
    Halide::Expr heads_per_group;                                  // query heads that share a key/value head
    std::optional<Mask> mask;                                      // both its bounds and its cells count
    std::optional<ScoreFunction> score;                            // one that is compiled in, after all biases
    Halide::Func bias;                                             // f32 (key, query, head, batch); read iff use_bias
    Halide::Func sinks;                                            // f32 (head); read iff use_sinks
    Halide::Expr use_bias, use_alibi, use_sinks;                   // i32, zero or not
    std::function<Halide::Expr(const Halide::Expr &batch)> offset; // key position of query 0, for ALiBi
    Halide::Expr scale, softcap, temperature;                      // as dsl::AttentionInputs has them; scale isn't 0
    Halide::Expr keys_per_chunk;                                   // split: a multiple of FragmentBlocking::keys; undefined: not split

    bool split() const { return keys_per_chunk.defined(); }
};

/** How the work is cut: a thread block has `warps` warps of 16 row_tiles rows, and looks at `keys` keys a step. */
struct FragmentBlocking {
    int head_dim = 128, value_dim = 128; // multiples of 16
    int warps = 4, row_tiles = 1;
    int keys = 64;           // a multiple of 16
    int stages = 2;          // blocks of keys in shared memory at once: those beside the one in use are on their way
    bool warpgroups = false; // four warps multiply together, from shared memory; `warps` is a multiple of 4, row_tiles 1
    int blocks = 1;          // thread blocks that a multiprocessor's registers must be enough for
    int merged_at_once = 32; // split: chunks

    int rows() const { return 16 * row_tiles * warps; }
};

/** Axis `head` counts query heads, or split, key/value heads; `tile` the tiles of a head, or split, for each of them its chunks. */
struct FragmentAttention {
    FragmentInputs inputs;
    FragmentBlocking blocking;
    // In shared memory. By warpgroups, word is that of a line, and a panel follows the row or key (dsl/swizzled_panels.h).
    Halide::Func query_words;            // (word, row, tile, head, batch)
    Halide::Func key_words, value_words; // (word, key, step, tile, head, batch)
    // Those of queries and keys aren't made by warpgroups, those of values only for values that aren't finite.
    Halide::Func query_fragment, key_fragment, value_fragment; // (register, q, g, ...)
    Halide::Func score;                                        // (r, q, g, key tile, row tile, warp, step, tile, head, batch)
    Halide::Func hidden_row;                                   // i32 (q, g, warp, step, tile, head, batch): g, hidden unless split
    Halide::Func lane_maximum;                                 // (half, q, g, row tile, warp, step, tile, head, batch)
    Halide::Func state;                                        // (slot, q, g, warp, tile, head, batch): see slots in the .cpp
    // Where a block isn't attended to by every row: whether some of its values isn't finite, and then which outputs such values reach.
    Halide::Func spoilt_lane, spoilt; // i32 (q, g, warp, step, tile, head, batch)
    Halide::Func marks;               // u32 (word, q, g, warp, step, tile, head, batch): two bits an output
    Halide::RDom lane_words, marked;  // of spoilt_lane and marks
    // Split: f32 (channel % 2, channel / 2 % 4, channel / 8, row, tile, head, batch), the states of a tile's rows: their outputs, and in
    // one more column of channels the maximum (channel % 2 = 0) and the sum (1). What merges them has axes of channels, token, head, batch.
    Halide::Func partial;
    ChunkMerge merge;
    Halide::Func closed;                           // (which, token, head, batch): factor of the outputs, log-sum-exp
    Halide::Func factor;                           // (q, token, head, batch): of the outputs, at the end
    Halide::Func output;                           // u32 (word % 4, word / 4, token, head, batch)
    Halide::Func lse;                              // f32 (0, token, head, batch)
    Halide::RDom product, maximum_elements, steps; // of score, lane_maximum and state
    Halide::RDom marked_outputs;                   // of the second update of state
    Halide::RDom sums;                             // by warpgroups, of the third
    Halide::RDom scored_elements, mask_elements;   // (r, key tile, part) and (r, key tile): of the updates of score after the product
    Halide::Var q{"q"}, g{"g"}, warp{"warp"}, row_tile{"row_tile"}; // lane 4 g + q of a warp
};

/** Declares it. Masked keys weigh nothing, whatever they hold; a row with nothing to attend to gives zeros and log-sum-exp -inf.
 * Weights are rounded to the element type for the second product, and it is their sum that divides; by warpgroups that of the weights
 * before that. */
FragmentAttention fragment_attention(const FragmentInputs &inputs, const FragmentBlocking &blocking);

} // namespace attune::dsl
