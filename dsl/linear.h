// The linear layer: y = activation(x W^T + b) + residual, or with a gate y = activation(x G^T) (x W^T + b) + residual.
#pragma once

#include <vector>

#include <Halide.h>

#include "dsl/activation.h"
#include "dsl/prefetch.h"
#include "dsl/products.h"

namespace attune::dsl {

/** How weights are packed: panels of `panel_columns` outputs, side by side for each term of the sum (axes lane, word, which, panel). A
 * word is one weight of f32, or two of bf16 that follow one another along the input, the first in the lower half. Of the axis `which`, 0
 * is the weight and 1 the gate. Outputs past the last and terms past the last are 0. */
namespace packed_weight {
constexpr int panel_columns = 32;
constexpr int terms_per_block = 1024; // of a dot product, that are summed before they're added to those before them
constexpr int terms_per_group = 16;   // of x, or pairs of them, that are copied together
} // namespace packed_weight

struct LinearInputs {
    Halide::Func x;                // f32 or bf16 (term, row)
    Halide::Func weight;           // f32, or u32 pairs of bf16: (lane, word, which, panel)
    Halide::Func bias;             // f32 (column), as many as the panels have
    Halide::Func residual;         // of the type of y (column, row)
    Halide::Expr terms;            // inputs of the layer
    Halide::Expr rows;             // of x
    Halide::Expr panels;           // of weight
    Halide::Expr gated;            // i32, 0 or 1: whether there is a gate
    Halide::Expr activation;       // i32, an Activation
    Halide::Expr rows_per_task;    // i32: what a schedule may give a thread at a time
    Halide::Expr columns_per_task; // i32, likewise
    Halide::Type weight_type;      // of weight: f32 or u32
    Halide::Type type;             // of y
};

/** What a schedule chooses of its shape. None of it changes a bit of the result, but for `products`: sums run over blocks of terms, and in
 * a block from the first term to the last. */
struct LinearBlocking {
    int rows_per_tile = 4; // rows whose sums are in registers at once
    Products products;     // of pairs: what multiplies the packed pairs as they are
    int words_ahead = 0;   // of the weight that is read, that one is asked for; 0: no prefetches
    Nearness nearness = Nearness::first_level;
    int panels_at_once = 1;      // read side by side
    bool copies_weights = false; // pairs that become f32 are stored so, a block at a time; only what lies in the block is asked for
};

/** Rows come in tiles: row = tile * rows_per_tile + row in the tile. Those past the last repeat it, and aren't stored. */
struct Linear {
    LinearInputs inputs;
    LinearBlocking blocking;
    Halide::Func operand;   // (term or pair, row, tile, block): x as the products take it; nothing past the last one's group
    Halide::Func terms;     // (lane, part, word, which, panel, block): packed weights as the products take them
    Halide::Func fed;       // the same, one vector at a time, those ahead being asked for
    Halide::Func dot;       // (lane, row, which, panel, tile, block): the sum over one block's terms
    Halide::Func sum;       // (lane, row, which, panel, tile): over all blocks
    Halide::Func activated; // (lane, row, panel, tile): activation(x G^T) with a gate, else activation(x W^T + b)
    Halide::Func y;         // (column, row)
    Halide::Expr plain;     // whether there is neither activation nor gate: y is then made of sums alone
    Halide::RDom taken;     // over (term or pair in a group, group)
    Halide::RDom in_block;  // over (part of a word, word)
    Halide::RDom blocks;
    std::vector<Halide::RDom> activations; // over rows of a tile, empty but for that of the activation in use; stage i + 1 of `activated`

    int words_per_block() const;
    int parts_of_word() const;                                  // that are multiplied one after the other
    bool pairs() const { return inputs.weight_type.is_uint(); } // packed weights are pairs of bf16
};

Linear linear(const LinearInputs &inputs, const LinearBlocking &blocking);

} // namespace attune::dsl
