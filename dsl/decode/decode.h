// Attention of few queries to many keys, split over the keys: what decoding a token needs.
//
// The rows of a key/value head are its (query, query head) pairs, so that each key and value is read once for all of them. Keys are cut
// into chunks, each of which leaves a softmax state; the states of all chunks then merge. Channels are the lanes of a vector: keys and
// values are read where the caller stores them.
#pragma once

#include <vector>

#include "dsl/attention/attention.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/prefetch.h"

namespace attune::dsl {

/** How keys are cut and dealt to streams. Either streams take the panels in turn, so that memory is read in order, and the scores of
 * neighbouring keys are made side by side; or each stream has its own part of a chunk, and the scores of one key of each are. */
struct DecodeBlocking {
    // Multiples of keys_per_panel * streams: keys of a chunk, and of one where only one row reads each.
    int keys_per_chunk = 1, keys_per_chunk_alone = 1;
    int keys_per_panel = 1; // what is skipped at once; a multiple of streams if they take turns
    int streams = 1;        // also the keys whose scores are made side by side
    bool in_turn = false;
    int lanes = 1;           // channels in a vector
    int rows_per_vector = 1; // whose scores are made in one vector, each in its share of the lanes, where rows share a short key
    int short_key = 0;       // bytes, at most
    Products products = {};  // pairs of bf16 where q, k and v are such, or k and v int8, of whole vectors; otherwise f32
    bool by_words = false;   // whether k and v of bf16 that are multiplied in f32 are read as words of two neighbouring channels
    // That much further on than keys are read in a stream they are asked for, at each of these distances, the furthest first, where rows
    // share vectors, else at the nearest; and than values, by all rows that read them together. None of either: no prefetches.
    std::vector<int> bytes_ahead, value_bytes_ahead;
    int bytes_ahead_alone = 0; // instead of either, where only one row reads a key
    int vectors_at_once = 1;   // of the output, at most, summed up over a part's keys; with pairs even. See value_passes()
    Nearness nearness = Nearness::first_level;

    static constexpr int most_ahead = 256; // keys

    // Of each stream's panel, values of so many keys are summed up over at once, in registers: a divisor, or if streams take turns all.
    int keys_per_part = 1;

    // Products of matrices in bf16, of keys and values that are stored so, or of int8, where at least `fewest_rows` read a key: each of
    // `size` rows, `size` keys and `size` pairs of channels, or of keys. 0: none. Panels are of as many keys, and streams, an even number,
    // each have a part of a chunk.
    struct Tiles {
        int size = 0, fewest_rows = 1;
        int vectors_at_once = 1; // of the output, summed up in registers
        int key_bytes_ahead = 0; // that much further on than keys are read they are asked for
        Products products = {};  // pairs
    } tiles = {};

    /** What values are summed up over at once, in a step: a panel where streams take turns, else some keys of every stream. */
    int parts_per_step() const { return in_turn ? streams : keys_per_panel / keys_per_part; }
};

/** The scores of a group's keys, summed up by lane of a vector, which holds channels of one row or those of `rows_per_vector` rows beside
 * each other: the more rows, the fewer lanes are left to be added up. Keys are read as they lie, and repeated for each row.
 *
 * A group is the keys that are computed side by side, as many as there are streams; `row` counts vectors of rows. */
struct KeyProducts {
    int rows_per_vector = 1;
    int lanes = 1;      // of a row
    Halide::Func query; // (dim, row, head, batch): packed, scaled but for pairs
    // A key's channels by how they are read, each with the update of `dot` that multiplies them: first in whole vectors of a row's lanes,
    // packed as they lie; then, where those are words, a vector of f32 for what words leave; then, in f32, what fills no vector. Only what
    // there is.
    struct Vectors {
        Halide::Func key; // (channel, vector, lane, stream, step, chunk, head, batch)
        Halide::RDom dims;
    };
    std::vector<Vectors> vectors;
    Halide::Func dot; // ((number * rows_per_vector + row of the vector) * lanes + channel, group, stream of the group, step, row,
                      // chunk, head, batch)
    std::vector<Halide::Func> sums; // as `dot`, halves added up, in the last one all channels of a key
    Halide::Func score;             // (number, row of the vector, group, stream of the group, step, row, chunk, head, batch)
    Halide::RDom halves;
    Halide::RDom store; // (number, group, stream of the group, step): of `masked`, for as many rows as it is made for
};

/** Sums of share * v over the keys of a part, of some vectors of the output: of pairs two by two, see PairedElement, of words likewise, see
 * SplitElement, and channels that fill no two of them in f32, in order. */
struct ValueProducts {
    Halide::Func value; // (channel, vector of the pass, pass, packed lane, or key of channels in f32, stream, step, chunk, ...)
    Halide::Func sum;   // (channel, vector of the pass, pass, part, step, row, chunk, head, batch)
    Halide::RDom keys;  // stream of the part; packed lane, or key of channels in f32
    Halide::RDom store; // vector of the pass, pass, part, step: of Decode::output, by its update of the same place
};

/** What many rows make of keys and values as products of matrices: of the keys of a panel and the rows' queries, and of the rows' weights
 * and the values of a part, which is a panel of each of two neighbouring streams. A word is a pair of channels of q and k, or of keys of
 * weights and v. Loops of RDoms end with one that is none where tiles aren't used. */
struct TiledProducts {
    Halide::Expr used; // whether rows are so many, and widths fill tiles; undefined where that never is

    Halide::Func query_lines, query; // (channel, vector, row, head, batch): words, a vector after the other; and (row, word, head, batch)
    Halide::RDom query_words;        // word of a vector, vector: of the update of `query`
    Halide::Func read;               // (stream, step, chunk, head, batch): some bits of every line of a whole panel's keys
    Halide::RDom lines;              // line, key

    /** The first for panels that are copied, the second for those whose keys lie one after the other. */
    struct Scores {
        Halide::Func key;   // (channel, vector, lane, stream, step, chunk, head, batch): words, a vector of them after the other; of copies
        Halide::Func dot;   // (row, lane, stream, step, chunk, head, batch)
        Halide::RDom dims;  // word of a vector, vector
        Halide::RDom store; // lane, stream, step: of Decode::masked, by its updates after those of Decode::scores
    };
    std::vector<Scores> scores;

    Halide::Func value;   // (channel, vector, word, stream, step, chunk, head, batch): copied
    Halide::Func sum;     // (channel, vector, part, step, row, chunk, head, batch): of weights times values
    Halide::RDom words;   // word of a panel, panel of the part
    Halide::RDom outputs; // vector of a pass, pass, step, part: of Decode::output, by its last update

    Halide::Func guarded;         // (channel, vector, word, stream, step, row, ...): `value` without what the row may not attend to
    Halide::Func guarded_share;   // (word, stream, step, row, ...): as packed_share; of values with scales it is this that is without
    Halide::Func careful_sum;     // (channel, vector, repeated, part, step, row, ...): `sum` with these, `repeated` times
    Halide::RDom careful_words;   // as `words`
    Halide::RDom careful_outputs; // step, part: of Decode::careful, by its last update

    explicit operator bool() const { return used.defined(); }
};

/** What is read of a listed key. */
enum class Cached { key, value };

/** Axes: `head` is the key/value head, `row` a (query, query head in the group) pair of it, `vector` counts `lanes` channels, of which
 * `channel` is one. The keys that a chunk attends to are named by (lane, stream, step): key `lane` of the panel that comes after `step`
 * others in its stream. */
struct Decode {
    AttentionInputs inputs;
    DecodeBlocking blocking;

    Halide::Func first, end; // (head, batch): the keys that some row may attend to by the run-time mask, nothing outside is read
    Halide::Func reach;      // (panel, chunk, head, batch): whether an interval of some row reaches into the panel
    Halide::Func full;       // (chunk, head, batch): whether one interval of every row holds the whole chunk
    Halide::Func list;       // (entry, chunk, head, batch): how many panels are listed, then those that are reached
    Halide::Func begin;      // (stream, step, chunk, head, batch): the first key of the panel
    // Where the keys of listed panels lie, and of some more, for prefetches, if elements are read as they lie: (slot, chunk, head, batch)
    // how many elements from the head's first key, and value, those of the panel are (i64), and whether all of them follow one after the
    // other (i32), and in the slots after a queue's last what is read next. (listed key, chunk, head, batch) the elements to each key,
    // where streams take turns only to those of other panels. Elsewhere each key's place and page (i32).
    Halide::Func panel_at, read_at, place_of_page;
    Halide::Func scale_of; // f32 (listed key, chunk, head, batch): the scale of the key, and of its value; only where pages have scales
    Halide::Expr panels_within_pages; // the size of a page is a multiple of a panel's, or there is one page
    Halide::RDom row_intervals, reach_intervals, full_rows, panels, begins, listed, listed_panels, panels_ahead, listed_scales;

    Products products;       // pairs of neighbouring channels in q and k (but see makes_pairs()), of neighbouring keys in weights and v
    bool by_words = false;   // k and v are read so: see DecodeBlocking. Vectors of q and of the output then are as SplitElement has them
    Halide::Func query;      // (dim, row, head, batch): packed, scaled but for pairs
    Halide::Func rest_query; // the same of channels from the first on that fills no vector of what is packed, in f32, zeros past the last
    Halide::Func masked;     // (lane, stream, step, row, chunk, head, batch): the score, -inf where masked, in stages
    std::vector<KeyProducts> scores; // for one row a key, then for several; or one for both. The first stages of `masked`
    TiledProducts tiled;
    std::vector<Halide::RDom> stages; // of `masked` after these, in order: streams and steps

    Halide::Func lane_maximum, maximum; // (lane, row, chunk, head, batch); without the lane
    Halide::Func weight;                // (lane, stream, step, row, chunk, head, batch): e^((s - maximum) / T)
    Halide::Func lane_sum, sum;         // as the maxima
    Halide::Func share;                 // as `weight`: what multiplies v, which dropout may have made 0
    Halide::Func packed_share;          // (packed lane, stream, ...): `share`, packed; only of pairs, or for tiles
    Halide::Func scaled_share;          // `share` times the value's scale; only where pages have scales
    std::vector<ValueProducts> values;  // by value_passes(), then what words leave, and channels that fill no vector
    Halide::Func output;                // (channel, vector, row, chunk, head, batch): over all parts
    Halide::Func lane_bits;             // (channel, row, chunk, head, batch): the largest bits of |output|, by lane
    Halide::Func output_bits;           // (row, chunk, head, batch): over the lanes
    Halide::Func careful_sum, careful;  // as `sum` and `output`: without what is masked or dropped; only where `output` isn't finite
    Halide::Func partial;               // (channel, vector, row, chunk, head, batch): see Header, then the output from vector 1 on
    Halide::RDom maximum_steps, sum_steps, lanes, shares, dropped, packs, scaled;
    std::vector<Halide::RDom> weights;      // of the updates of `weight`: as f32 or pairs take them, and as tiles do
    std::vector<Halide::RDom> careful_keys; // of the updates of careful_sum
    Halide::RDom outputs, channels_of_bits, careful_parts;
    enum Header { header_maximum, header_sum };

    Halide::Func joint;   // (row, head, batch): the maximum over all chunks
    Halide::Func factor;  // (chunk, row, head, batch): e^((maximum of the chunk - joint) / T)
    Halide::Func merged;  // (channel, vector, row, head, batch): as `partial`, of all keys
    Halide::Func starved; // (head, batch): whether some row has sum 0
    Halide::Func attends; // (row, head, batch): where some row is starved, whether the row may attend to any key at all
    Halide::Func closing; // (which, row, head, batch): see Closing
    Halide::Func result;  // (channel, vector, row, head, batch): vector 0 the log-sum-exp, then the output
    Halide::RDom chunks, merges, rows, cells;

    Halide::Func attention; // (dim, token, query head, batch)
    Halide::Func lse;       // (token, query head, batch)

    Halide::Expr value_vectors() const { return divided_up(inputs.value_dim, blocking.lanes); }
    /** Whether pairs of bf16 are read as they are stored; or numbers of int8, which are exact in bf16, made pairs as they are read: of
     * channels of a key as far apart as a vector is long, so that vectors are read, and of the same channel of two keys' values. */
    bool reads_pairs() const { return products.pairs && !inputs.pages.scaled(); }
    bool makes_pairs() const { return products.pairs && inputs.pages.scaled(); }
    /** Whether what is read of a key makes vectors of two channels a lane. */
    bool in_words() const { return products.pairs || by_words; }
    /** Channels that a lane holds: of a key, or of a value. */
    int channels_per_lane(Cached what) const { return in_words() && !(what == Cached::value && makes_pairs()) ? 2 : 1; }
    /** D, or Dv. */
    Halide::Expr width(Cached what) const { return what == Cached::key ? inputs.head_dim : inputs.value_dim; }
    /** Vectors of channels that are made of whole vectors of what lanes hold of a key, or of a value. */
    Halide::Expr whole_vectors(Cached what) const {
        const int depth = channels_per_lane(what);
        return width(what) / (blocking.lanes * depth) * depth;
    }
    Halide::Expr rows_per_head() const { return inputs.queries * inputs.heads_per_group; }
    Halide::Expr keys_per_chunk() const {
        if (blocking.keys_per_chunk_alone == blocking.keys_per_chunk) return blocking.keys_per_chunk;
        return select(rows_per_head() == 1, blocking.keys_per_chunk_alone, blocking.keys_per_chunk);
    }
    Halide::Expr panels_per_chunk() const { return keys_per_chunk() / blocking.keys_per_panel; }
    Halide::Expr steps_per_chunk() const { return panels_per_chunk() / blocking.streams; }
};

/** Declares the same as attention(), for inputs with no mask, score or position compiled in. */
Decode decode(const AttentionInputs &inputs, const DecodeBlocking &blocking);

} // namespace attune::dsl
