// Attention of a tile of queries, over blocks of keys one after another: the form that suits a block of threads, which share what they
// read and keep what they compute to themselves.
//
// Split, keys are cut into chunks, as in dsl/attention/fragments.h.
#pragma once

#include "dsl/attention/attention.h"
#include "dsl/chunk_merge.h"

namespace attune::dsl {

struct SimtBlocking {
    int rows = 64;     // queries of a tile
    int keys = 64;     // of a block
    int parts = 16;    // each has some keys of a block and some channels of the output; `keys` is a multiple of group * parts
    int channels = 64; // of the output, at least Dv; a multiple of group * parts
    int dims = 32;     // channels of q and k that are copied at once
    int values = 16;   // keys of v that are copied at once; divides `keys`
    bool split = false;
    int merged_at_once = 32; // split: chunks
    int blocks = 1;          // of threads, that a multiprocessor must have registers for

    static constexpr int group = 4; // keys, and channels, of a part lie together in groups of so many
    int keys_per_part() const { return keys / parts; }
    int channels_per_part() const { return channels / parts; }
};

/** What is the same for all rows of a batch item. */
struct ItemInputs {
    Halide::Func offsets, lengths;         // i32 (batch): read iff used
    Halide::Expr use_offsets, use_lengths; // i32, zero or not
    Halide::Expr offset;                   // key position of query 0, where `offsets` aren't used
    Halide::Expr left, right;              // keys i + offset - left to i + offset + right may be attended
    Halide::Expr use_alibi;                // i32, zero or not
    Halide::Expr heads;                    // of the queries
    Halide::Expr keys_per_chunk;           // split: a multiple of SimtBlocking::keys
    Halide::Expr contiguous;               // whether keys and values aren't in pages, where that is worth code of its own
};

/** Axes: `row` within the tile, `key` within the block, `part` as in SimtBlocking. `head` counts query heads, or split, key/value heads;
 * `tile` the tiles of a head, or split, for each of them its chunks, and `block` those of the chunk. */
struct SimtAttention {
    SimtBlocking blocking;
    Halide::Func item;                  // i32 (which, batch)
    Halide::Func slope;                 // (query head): of ALiBi, 0 where it isn't used
    Halide::Func query;                 // (row, dim, chunk, tile, head, batch): chunks of `dims` channels, zero past D
    Halide::Func key;                   // (key, dim, chunk, block, tile, head, batch)
    Halide::Func value;                 // (dim, key, chunk, block, tile, head, batch): chunks of `values` keys, zero past Dv
    Halide::Func dot;                   // (row, key, block, tile, head, batch)
    Halide::Func score;                 // likewise, -inf where masked, in stages
    Halide::Func part_maximum, maximum; // (part, row, block, tile, head, batch); without the part
    Halide::Func weight;                // (row, key, block, tile, head, batch): 0 where masked, and nowhere else
    Halide::Func part_sum;              // as part_maximum
    Halide::Func output;                // (dim, row, block, tile, head, batch): sum of weight * v
    Halide::Func bits;                  // (part, row, block, ...): the largest of |output|, as Operands::value_bits
    Halide::Func careful;               // as `output`; where that isn't finite, without what is masked
    Halide::Func state;                 // (lane, part, row, tile, head, batch): as in dsl::state, the output that of the part
    Halide::Func shared;                // (which, part, row, tile, head, batch): of the state the maximum, the sum
    Halide::Func total;                 // (row, tile, head, batch): the sum over the parts
    Halide::Func attends;               // (row, tile, head, batch): where the sum is 0, whether the row may attend to any key
    Halide::Func closing;               // (row, which, tile, head, batch): see Fold
    // Split: (dim, row, tile, head, batch), the states of a tile's rows: their outputs, then the maximum and the sum. In what merges them
    // `attends` is (token, head, batch), and `closing` (which, token, head, batch).
    Halide::Func partial;
    ChunkMerge chunk_merge;  // elements (odd, q, column): channel 8 column + 2 q + odd
    Halide::Func attention;  // (dim, token, head, batch)
    Halide::Func lse;        // (token, head, batch)
    Halide::Expr contiguous; // as in ItemInputs
    Halide::RDom dims, keys_of_part, parts, values, channels, careful_keys, merge, starved;
    std::vector<Halide::RDom> stages; // of `score`: each runs once, or not at all
    enum Item { offset, length, left, right, items };
};

/** Uses of the inputs what names them: no key intervals, boolean tensors or dropout. A buffer that isn't used may
 * have extents 1; it isn't read. */
SimtAttention simt_attention(const AttentionInputs &inputs, const ItemInputs &items, const SimtBlocking &blocking);

} // namespace attune::dsl
