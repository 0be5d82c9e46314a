// The parts the declaration of attention is made of, each a file of its own.
#pragma once

#include "dsl/attention/attention.h"

namespace attune::dsl {

KeyRanges key_ranges(const AttentionInputs &in, const Blocking &blocking);
Panels panels(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges);
Operands operands(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels,
                  const Halide::Expr &padded_value_dim);
MemoryAhead memory_ahead(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels);

/** What the scores and the state of a block are declared from. */
struct BlockParts {
    const AttentionInputs &in;
    const Blocking &blocking;
    const KeyRanges &ranges;
    const Panels &panels;
    const Operands &operands;
    const Products &products = blocking.products;
};
Scores scores(const BlockParts &parts, const MemoryAhead &ahead);
BlockState block_state(const BlockParts &parts, const Scores &scores);

Fold fold(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels, const BlockState &partial,
          const Halide::Expr &padded_value_dim);

/** What the first product reads of a key: word `d` of key `lane` of the panel that is listed at `slot` and begins with key `begin` of the
 * block. It comes from the block's copy, or from the caller's memory where that panel is read in place. Where numbers are in parts, it is
 * part `part` of them. */
Halide::Expr packed_key(const AttentionInputs &in, const Blocking &blocking, const Operands &operands, const Halide::Expr &slot,
                        const Halide::Expr &begin, const Halide::Expr &lane, const Halide::Expr &d, const Halide::Expr &part);

/** What the second product reads of a value: channel axes::dim of packed key `packed_key` of the panel listed at `slot`; likewise. */
Halide::Expr packed_value(const Blocking &blocking, const Operands &operands, const Panels &panels, const Halide::Expr &slot,
                          const Halide::Expr &packed_key, const Halide::Expr &part);

/** The head, of so many, and the batch item of what comes next: this one's where it goes on, else the next head's, or the next item's
 * first. The last item has itself after it. */
struct NextHead {
    Halide::Expr head, batch;

    NextHead(const Halide::Expr &goes_on, const Halide::Expr &heads, const Halide::Expr &batches);
};

/** `key`, of packed_key() for key `lane` of the panel; and of what is read later as much is asked for with the products at each d that all
 * of them ask for a panel's: into the first-level cache the panel after this one, into the second keys and values a block further on. In
 * one go before the products they would wait for each other, and the products for them (measured on Zen 4: 32 queries of 128 channels over
 * 4096 keys from memory 7 % slower so, 14 % faster so asked). */
Halide::Expr asking_ahead(const AttentionInputs &in, const Blocking &blocking, const Operands &operands, const MemoryAhead &ahead,
                          const Halide::Expr &key, const Halide::Expr &slot, const Halide::Expr &lane, const Halide::Expr &d);

/** Whether q brings scores that are exponents of 4 already, log4(e) / T times what they are else: of q of f32, where the blocking asks for
 * it and nothing changes scores, at temperatures at which none is larger for it. */
Halide::Expr scored_by_exponent(const AttentionInputs &in, const Blocking &blocking);

/** Whether scores get the scale of their key: where pairs hold the numbers of an int8 key, which bf16 has exactly. A position is told the
 * key as it is. */
bool scaled_by_key(const AttentionInputs &in, const Blocking &blocking);

/** What is something of its own for each part of numbers, on the axis `part`, if there are several: so that code for one part doesn't work
 * out the others. */
Halide::Expr of_part(const Products &products, const std::function<Halide::Expr(int)> &one);

/** What q is multiplied with where it isn't rounded: by scaled_query(), or before it is taken into parts. */
Halide::Expr query_scale(const AttentionInputs &in, const Blocking &blocking);

/** Of q as Products packs it: what the product takes. */
Halide::Expr scaled_query(const AttentionInputs &in, const Blocking &blocking, const Halide::Expr &packed);

/** What Scores::masked is still to be multiplied with: to be scores, and to be exponents of 2. */
Halide::Expr scale_left(const AttentionInputs &in, const Blocking &blocking);
Halide::Expr exponent_scale(const AttentionInputs &in, const Blocking &blocking);

/** Of numbers: the weight of what Scores::masked holds, in a block of the given maximum. */
Halide::Expr weight_in_block(const AttentionInputs &in, const Blocking &blocking, const Halide::Expr &score, const Halide::Expr &maximum);

/** Of pairs: what a row's scores are multiplied with, and what is then taken off, for exponents of 2 of at most about 0: one instruction
 * for both. The maximum's product is rounded, by 2^-24 of itself, and all keys of a block are relative to what it is then. Weights are sqrt
 * 2 times their powers (exp2_half_to_bfloat16). The same of WordExponent, to be added. By BlockState::Exponent. */
Halide::Expr exponent(const Halide::Expr &which, const Halide::Expr &maximum, const Halide::Expr &base2);

/** What a state is multiplied with as it merges into one of the given maximum: e^((its maximum - maximum) / T). Of pairs, one that
 * `is_added` from a block loses the sqrt 2: as the number of bf16, so that one key alone weighs 1. */
Halide::Expr state_factor(const Products &products, const Halide::Expr &is_added, const Halide::Expr &of_state, const Halide::Expr &maximum,
                          const Halide::Expr &base2);

/** A query head's sink, -inf where there is none. */
Halide::Expr sink_of(const AttentionInputs &in, const Halide::Expr &query_head);

/** A sum of e^(s / T - tempered) with a sink z, which is one more logit next to the scores over T: with m the larger of both maxima,
 * sum e^(tempered - m) + e^(z - m). */
struct SinkJoined {
    Halide::Expr joint;  // m
    Halide::Expr factor; // e^(tempered - m)
    Halide::Expr sum;
};
SinkJoined join_sink(const Halide::Expr &tempered, const Halide::Expr &sum, const Halide::Expr &sink);

/** What the sum and a query head's sink make of a row's state of all keys, by Fold::Closing. `attends`: whether the row may attend to any
 * key; read where the sum is 0. */
Halide::Expr closing(const AttentionInputs &in, const Halide::Expr &which, const Halide::Expr &maximum, const Halide::Expr &sum,
                     const Halide::Expr &query_head, const Halide::Expr &attends);

/** The value, or 0 where the key is masked or dropped: for values that aren't finite, since 0 * NaN is NaN. */
Halide::Expr guarded_value(const Halide::Expr &value, const Halide::Expr &score, const Halide::Expr &kept);

/** The value where the condition holds, and nothing elsewhere: loops run as far as it holds, as those of an update with a `where` do. For
 * the compiler this is one stage, and an update after a definition without values is two. */
inline Halide::Expr defined_if(const Halide::Expr &condition, const Halide::Expr &value) {
    return select(condition, value, Halide::undef(value.type()));
}

/** The query a row of a tile stands for. Rows past the last query repeat it; what they give is never stored. */
Halide::Expr query_of(const AttentionInputs &in, const Blocking &blocking, const Halide::Expr &row);

/** Whether a tile or a task with that range has keys in a block. The panels of a block end where those of the next begin, which is where
 * the first key's would. */
Halide::Expr has_keys_in(const Blocking &blocking, const Halide::FuncRef &range, const Halide::Expr &block);

/** The first query of the tile, and its last. */
Halide::Internal::Interval queries_of_tile(const AttentionInputs &in, const Blocking &blocking);

/** Where an interval of a row of the tile begins and ends: it lies between two gaps. */
Halide::Expr interval_begin(const KeyRanges &ranges, const Halide::Expr &row, const Halide::Expr &interval);
Halide::Expr interval_end(const KeyRanges &ranges, const Halide::Expr &row, const Halide::Expr &interval);
Halide::Expr in_interval(const KeyRanges &ranges, const Halide::Expr &row, const Halide::Expr &interval, const Halide::Expr &key);

/** Whether a tile, or a task, may need some of keys [begin, begin + count), and the same as conditions on an RDom over a block's keys. Of
 * a task up to `end`: KeyRanges::panels_end, or KeyRanges::end, to which it attends. */
Halide::Expr is_of_task(const KeyRanges &ranges, const Halide::Expr &begin, const Halide::Expr &count,
                        KeyRanges::Bound end = KeyRanges::panels_end);
void only_keys_of_tile(Halide::RDom &domain, const KeyRanges &ranges, const Halide::Expr &begin, const Halide::Expr &count);
void only_keys_of_task(Halide::RDom &domain, const KeyRanges &ranges, const Halide::Expr &begin, const Halide::Expr &count,
                       KeyRanges::Bound end = KeyRanges::panels_end);

/** Which key of a block the tile's first panel there begins with: so that the first key of all is that of a panel. */
Halide::Expr first_panel_key(const Blocking &blocking, const KeyRanges &ranges);

/** Which key of the block the tile's panel begins with. */
Halide::Expr panel_key(const Blocking &blocking, const KeyRanges &ranges, const Halide::Expr &panel);

/** Not 0 where the boolean tensor lets the tile's row attend to the block's key. */
Halide::Expr attending_bit(const Panels &panels, const Halide::Expr &row, const Halide::Expr &key_of_block);

/** Which key the panel listed at `slot` begins with: of the block, and of the sequence; and how many panels there are. */
Halide::Expr panel_key_in_block(const Blocking &blocking, const Panels &panels, const Halide::Expr &slot);
Halide::Expr first_key(const Blocking &blocking, const Panels &panels, const Halide::Expr &slot);
Halide::Expr listed(const Panels &panels, Panels::Slot which);

/** How many keys lie from the first of the panel listed at `slot` up to the last that the tile may have to look at. */
Halide::Expr keys_left(const Blocking &blocking, const KeyRanges &ranges, const Panels &panels, const Halide::Expr &slot);

/** Rows of a tile, and the slots, from `begin` to before `end`, of the panels that are multiplied for these rows and no others. */
struct SlotsOfRows {
    Halide::Expr rows, begin, end;
};
std::vector<SlotsOfRows> slots_of_rows(const Blocking &blocking, const Panels &panels);

/** Whether a tile has more queries than its first rows: the other rows are multiplied with nothing where it hasn't. */
Halide::Expr has_other_rows(const AttentionInputs &in, const Blocking &blocking);
/** Whether the row is one of the tile's first, or the tile has other rows: the same for all of a vector. */
Halide::Expr is_multiplied(const AttentionInputs &in, const Blocking &blocking, const Halide::Expr &row);

/** Whether a row is multiplied with the keys of the panel listed at `slot`. */
Halide::Expr multiplies(const Blocking &blocking, const Panels &panels, const Halide::Expr &slot);

/** Keys of the listed panels as an RDom (lane, slot), `per` of them at once. None where not `used`. */
Halide::RDom listed_keys(const Blocking &blocking, const Panels &panels, const std::string &name,
                         const Halide::Expr &used = Halide::Internal::const_true(), int per = 1);

} // namespace attune::dsl
