// The parts the declaration of decoding is made of.
#pragma once

#include "dsl/decode/decode.h"

namespace attune::dsl {

/** Which panels of a chunk are looked at: those that an interval of some row reaches into. */
void declare_panels(Decode &d);
/** From q and k to masked scores. */
void declare_decode_scores(Decode &d);
/** From masked scores to the softmax state of a chunk. */
void declare_chunk_state(Decode &d);
/** Where many rows read a key: whether products of tiles are used, which comes first; scores; the output, and that without what is masked.
 */
void declare_tiled(Decode &d);
void declare_tiled_scores(Decode &d);
void declare_tiled_output(Decode &d);
void declare_tiled_careful(Decode &d, const Halide::Expr &all_finite);
/** Whether they aren't used. */
Halide::Expr untiled(const Decode &d);
/** What tiles, or pairs, take of a row's share of a key: a number of bf16, as f32. */
Halide::Expr packed_number(const Decode &d, const Halide::Expr &of_lane, const Halide::Expr &of_stream, const Halide::Expr &at_step);
/** A factor of a product with a key's value, or 0 where the row may not attend to key `of_lane` of the stream's panel, or dropout took it.
 */
Halide::Expr guarded_factor(const Decode &d, const Halide::Expr &factor, const Halide::Expr &of_lane, const Halide::Expr &of_stream);
/** The merge of the chunks' states, and what becomes of it. */
void declare_chunk_merge(Decode &d);

/** A row's cell for a key: its query, and its query head. Rows past the last repeat it; what they give is never stored. */
Cell cell_of_row(const AttentionInputs &in, const Halide::Expr &row, const Halide::Expr &key);

/** How many panels are listed, and the most that a stream has of them. */
Halide::Expr listed_count(const Decode &d);
Halide::Expr steps(const Decode &d);

/** Streams and steps (stream, step) as an RDom; none where not `used`. */
Halide::RDom steps_of(const Decode &d, const std::string &name, const Halide::Expr &used = Halide::Internal::const_true());

/** The slot of Decode::panel_at for the panel of a stream at a step. */
Halide::Expr slot_of(const Decode &d, const Halide::Expr &of_stream, const Halide::Expr &at_step);

/** The first key of the panel that a stream has at a step; past the last panel that comes again, and whether this is so. */
Halide::Expr panel_begin(const Decode &d, const Halide::Expr &of_stream, const Halide::Expr &at_step);
Halide::Expr comes_again(const Decode &d, const Halide::Expr &of_stream, const Halide::Expr &at_step);

/** The entry, in the tables of keys, of what is read for a lane of a panel: the key itself, or the nearest that some row may attend to. The
 * panel is given by its slot, or as that of a stream at a step. */
Halide::Expr key_in_slot(const Decode &d, const Halide::Expr &slot, const Halide::Expr &of_lane);
Halide::Expr key_entry(const Decode &d, const Halide::Expr &of_lane, const Halide::Expr &of_stream, const Halide::Expr &at_step);

/** What a listed key, and its value, are to be multiplied with: components of Decode::scale_of. */
enum class Scale { key, value };
Halide::Expr scale_of(const Decode &d, Scale which, const Halide::Expr &listed);

/** Whether the keys of the panel in a slot lie one after the other in memory, and are all read. */
Halide::Expr is_whole(const Decode &d, const Halide::Expr &slot);

/** Elements from the head's first key, or value, to that of a lane of a whole panel, or of one after it. */
Halide::Expr elements_in_panel(const Decode &d, Cached what, const Halide::Expr &slot, const Halide::Expr &of_lane);

/** Channel `c` of a listed key, or of its value, in f32. */
Halide::Expr channel_of(const Decode &d, Cached what, const Halide::Expr &listed, const Halide::Expr &c);

/** How keys, or values, further on in the same stream are asked for: where one row reads a key at a distance of its own, else at all of
 * DecodeBlocking's, or at the nearest. */
struct Ahead {
    bool asks = false;
    Halide::Expr alone; // whether one row reads a key
    bool all = false;
    Halide::Expr wanted = Halide::Internal::const_true();
};

/** Whether bf16 has the numbers of q, k and v exactly: they are such, or k and v int8. */
bool are_exact_in_bfloat16(const AttentionInputs &in);

/** Channel `which` of the word in a lane of a vector of them, of q and k: neighbours, as they are stored, but of numbers that are converted
 * as far apart as a vector is long, so that vectors are read. */
Halide::Expr channel_of_word(const Decode &d, const Halide::Expr &of_vector, const Halide::Expr &of_lane, int which);

/** How many keys, or values, further on what lies a distance in bytes ahead is, at least one. */
int keys_ahead(const Decode &d, Cached what, int distance);

/** Lane `channel` of vector `v`, of so many lanes, of a listed key, or of its value, counted from channel `from`, where one begins: a
 * channel in f32, or a word of two neighbours of 16 bits. That of a key further on is asked for, if `ahead` says so. (The nearer to a
 * constant `v` is, the fewer instructions make its address.) */
Halide::Expr lane_of(const Decode &d, Cached what, int lanes, const Halide::Expr &listed, const Halide::Expr &v, const Ahead &ahead = {},
                     const Halide::Expr &from = 0);

/** The same of vector `v` of channels in f32. */
Halide::Expr number_lane_of(const Decode &d, Cached what, const Halide::Expr &listed, const Halide::Expr &v, const Ahead &ahead,
                            const Halide::Expr &from);

/** The same of the vector of channels that vectors of words leave whole, in f32. */
Halide::Expr single_lane_of(const Decode &d, Cached what, const Halide::Expr &listed, const Ahead &ahead);

/** The same of the channels after the last whole vector, in f32, filled up with zeros in the form that MaskLoads makes a masked load of:
 * they are vector `v` from channel `from` on; if that isn't given, of these channels. */
Halide::Expr rest_lane_of(const Decode &d, Cached what, const Halide::Expr &listed, const Halide::Expr &v, const Ahead &ahead,
                          const Halide::Expr &from = {});

/** How many vectors of channels those of words leave whole, 0 or 1. */
Halide::Expr single_vectors(const Decode &d, Cached what);

/** The same of the words of two neighbouring channels in the `nth` vector of them, where these fill all of a key; nothing is asked for. */
Halide::Expr word_of(const Decode &d, Cached what, const Halide::Expr &listed, const Halide::Expr &nth);

/** Channel `c` of a panel's key, or of its value, as it is stored: where products of tiles are used. */
Halide::Expr tiled_channel(const Decode &d, Cached what, const Halide::Expr &of_lane, const Halide::Expr &of_stream,
                           const Halide::Expr &at_step, const Halide::Expr &c);
/** The same of the panel in a slot, if its keys lie one after the other. */
Halide::Expr channel_in_whole_panel(const Decode &d, Cached what, const Halide::Expr &slot, const Halide::Expr &of_lane,
                                    const Halide::Expr &c);

/** How many vectors of so many channels a line holds of a key, or of its value; at least one. */
int vectors_per_line(const Decode &d, Cached what, int channels);

/** Whether some channels of a key, or of a value, may be left over, which are taken in f32, filled up to a vector: what fills no vector of
 * what lanes hold, or half of one, of words that are split; how many they are, and how many vectors they take. */
bool has_rest(const Decode &d, Cached what);
Halide::Expr rest_of(const Decode &d, Cached what);
Halide::Expr rest_vectors(const Decode &d, Cached what);

/** Whether `count` may be other than 0. */
bool may_be_some(const Halide::Expr &count);

} // namespace attune::dsl
