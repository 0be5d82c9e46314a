// The biases of a score's terms that depend on a head and on how far apart query and key stand: alibi and t5.
#pragma once

#include <cstdint>

#include "runtime/src/kernel/call.h"
#include "text/score.h"

namespace attune::runtime {

/** What they are worked out for. */
struct RelativeInput {
    int64_t batch;
    int64_t heads;                 // Hq
    int64_t queries;               // N
    int64_t keys;                  // M
    const text::Score *score;      // has alibi, t5 or both
    int64_t offset;                // key position of query 0 for terms without an alignment of their own, where `offsets` is nullptr
    const attune_tensor *offsets;  // [B] integers, or nullptr
    const attune_tensor *t5_table; // where the score has t5: as check_t5_table wants it
};

/** Works out the biases in `memory`. `relative` views them: f32 [B, H, N + M - 1], of query i and key j at index i - j + M - 1. The batch
 * stride is 0 where all items have the same. INVALID_ARGUMENT where an offset is so far out that distances leave 32 bits. */
Status make_relative_bias(const RelativeInput &input, Call &call, Scratch<float> &memory, attune_tensor &relative);

/** Checks the table: f32 [buckets, heads], any strides, there iff the score has t5. */
Status check_t5_table(const attune_tensor *table, const text::Score &score, int64_t heads);

/** An error if alibi or t5 needs an alignment: it names none, no offset is given, and N != M. */
Status check_score_alignment(const text::Score &score, int64_t queries, int64_t keys, bool offset_given);

} // namespace attune::runtime
