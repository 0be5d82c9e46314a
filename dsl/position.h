// Positional encodings: the sinusoidal table, rotary embedding, and positions added to the input.
//
// Tables are f32 (channel, plane, token, batch), as kernels take them: of rotary embedding the channel is a pair, plane 0 its cosine and
// plane 1 its sine; of what is added to the input there is one plane. Where all batch items share one, its stride over batch is 0. A
// sinusoidal table that is a result by itself may be f16 or bf16.
#pragma once

#include <functional>
#include <vector>

#include <Halide.h>

#include "dsl/frequency.h"
#include "dsl/products.h"

namespace attune::dsl {

/** The sinusoidal table (Vaswani et al., arXiv 1706.03762, section 3.5): channel 2k of position p is sin(p base^(-2k/width)), channel
 * 2k + 1 the cosine. */
struct Sinusoidal {
    Halide::Func turns_per_token; // f64 (pair)
    Halide::Func table;           // (dim, plane, token, batch), one plane
};

/** `width`: channels, odd allowed (the last is a sine). `positions`: i32 (token, batch). `type`: of the table, to which its f32 numbers are
 * rounded once. */
Sinusoidal sinusoidal(const Halide::Expr &width, const Halide::Expr &base, const Halide::Func &positions,
                      const Halide::Type &type = Halide::Float(32));

/** Positions counted up: first + token. */
struct TokenPositions {
    Halide::Func result; // i32 (token)
};
TokenPositions token_positions(const Halide::Expr &first);

/** Where tokens stand, in one stream of positions or several that the pairs of channels share out. */
struct RotaryPositions {
    Halide::Func numbers; // i32 (token, stream, batch)
    Halide::Expr streams; // >= 1
    Halide::Func ends;    // i32 (stream): pairs below ends(0) follow stream 0, those below ends(1) stream 1, and so on
};

/** The cosines and sines of rotary embedding: pair k of a token at position p of the pair's stream is turned by p times its frequency. */
struct RotaryTable {
    Frequencies frequencies;
    Halide::Expr streams;
    Halide::Func stream; // i32 (pair)
    Halide::RDom stream_ends;
    Halide::Func table; // (pair, plane, token, batch), yarn's magnitude in it; angles right to 1e-6 at position 1,000,000
};

/** `in.width` is that of one embedding: each W / 2 pairs, frequencies begin anew, so that `axes` embeddings of W channels have
 * axes * W / 2 pairs. */
RotaryTable rotary_table(const FrequencyInputs &in, const RotaryPositions &positions);

/** Which channels rotary embedding takes as a pair. R channels are turned. */
enum class RotaryLayout {
    half,       // (k, k + R/2): GPT-NeoX, Llama. With several axes, within each axis' R / axes consecutive channels
    interleaved // (2k, 2k + 1): the paper, GPT-J. With several axes too
};

/** One way of turning rows, by vectors of so many pairs. */
struct RotaryTurn {
    int lanes;
    Halide::Func turned; // f32 (lane, plane, vector, token, head, batch): both channels of a vector's pairs, worked out before either is
                         // stored, so that x may be overwritten
    Halide::RVar plane, lane, vector; // a vector that would end past the last pair begins before, and stores what none before it did
    Halide::RVar passes;              // 0: pairs; 1, where there is that: channels that pass, a vector of them in either plane
    Halide::RVar once;                // not at all where rows are turned by vectors of another length
};

/** Rotary embedding (Su et al., arXiv 2104.09864, eq. 34): pair (a, b) becomes (a cos - b sin, b cos + a sin). */
struct Rotary {
    std::vector<RotaryTurn> turns; // stages of the output, of which one runs
    Halide::RDom passed;           // channels of a last stage, where they have their own
    Halide::Func output;           // (dim, token, head, batch)
    Halide::Expr tokens;           // as many as x has
    Halide::Expr same_layout;      // whether x and the output have the same strides, at run time; false where nobody says

    Halide::Stage turn(size_t i) const { return Halide::Func(output).update(static_cast<int>(i)); }
    Halide::Stage pass() const { return turn(turns.size()); }
};

struct RotaryShape {
    struct Vectors {
        int lanes;              // pairs that are turned at once
        Rounding rounding = {}; // of so many results
        bool passes = true;     // whether channels pass, with the pairs of their row; else such rows are left to others
        bool whole = false;     // whether only for rows whose pairs are a multiple of them
    };
    // A row is turned by the first whose vectors its pairs fill, and the channels that pass, if any do. None is longer than the one before,
    // and the last is of one lane.
    std::vector<Vectors> vectors = {{1}};
    bool passes_apart = false; // whether all channels that pass have a stage of their own instead, after turns of whichever rows
};

/** `x`: (dim, token, head, batch), `channels` wide and `tokens` long. The first 2 * pairs channels are turned, the others pass. The output
 * has x's type. The table's numbers are finite, or NaN of bf16's 16 bits. */
Rotary rotary(const Halide::Func &x, const Halide::Expr &channels, const Halide::Expr &tokens, RotaryLayout layout,
              const Halide::Func &table, const Halide::Expr &pairs, const RotaryShape &shape = {});

/** x plus the table's row of its token: learned positions, or sinusoidal ones. */
struct AddPositions {
    Halide::Func output; // (dim, token, head, batch), of x's type
};

AddPositions add_positions(const Halide::Func &x, const Halide::Func &table);

/** A positional encoding that is compiled into attention. */
struct CompiledPosition {
    enum class Kind { rotary, added } kind = Kind::rotary; // added: sinusoidal or learned
    RotaryLayout layout = RotaryLayout::half;
    int width = 0; // of rotary: R; 0: all channels
    int axes = 1;  // of rotary
};

/** A row of q or k. */
struct PositionedInput {
    std::function<Halide::Expr(const Halide::Expr &)> channel; // what is stored, any type
    Halide::Func table;                                        // (channel, plane, token, batch)
    Halide::Expr token, batch;                                 // of the tensor
    Halide::Expr channels;                                     // D
    Halide::Expr position; // where the row stands among the keys: of k its token, of q its token plus the offset
};

/** Channel `dim` of the row with its position, in f32, in the order attention packs q and k in.
 *
 * That order is the caller's, but for interleaved pairs: of those, dim in [0, R/2) is the first channel of pair dim, and dim + R/2 the
 * second. q and k being permuted alike, their products are the same; and nothing is shuffled back.
 *
 * Vectors over `dim` need dense loads alone (interleaved: of every second channel) where D and R are compiled in and the lanes divide
 * R/2 / axes (interleaved: R/2): then each vector lies in one half, whose partner is a fixed distance away. Otherwise they gather. */
Halide::Expr positioned(const CompiledPosition &position, const PositionedInput &row, const Halide::Expr &dim);

} // namespace attune::dsl
