// Positions of queries and keys: what a plan's or a kernel's position text means for one run.
#pragma once

#include <cstdint>

#include "runtime/src/kernel/call.h"
#include "runtime/src/position/numbers.h"
#include "runtime/src/status.h"
#include "text/position.h"

namespace attune::runtime {

/** A position and what one run gives for it. Tensors that aren't given are nullptr. */
struct PositionInput {
    const text::Position *position; // nullptr: none
    int64_t batch, queries, keys, head_dim;
    int64_t offset = 0;                         // key position of query 0, unless the position names an alignment
    const attune_tensor *offsets = nullptr;     // or one per batch item, checked
    int64_t key_offset = 0;                     // position of key 0: above 0 where a cache has tokens already
    const attune_tensor *key_offsets = nullptr; // or one per batch item, checked
    CountedFrom counted_from = CountedFrom::offset, keys_counted_from = CountedFrom::offset;
    const attune_tensor *positions = nullptr, *key_positions = nullptr; // as attune_attention_args has them
    const attune_tensor *position_table = nullptr;                      // of the position `learned`: f32 [P, D]
};

/** Whether heads of D channels can have the position: those that are rotated, their sections and their axes. */
Status check_position(const text::Position &position, int64_t head_dim);

/** Checks all of it before anything runs, but what check_position() has. Queries need a place among the keys: an offset (`offset_given`:
 * one, or one per item), an alignment named in the position, explicit positions, or N = M. */
Status check_position_input(const PositionInput &input, bool offset_given);

/** The tables a kernel with this position compiled in reads, and apply_position: f32 (batch, token, plane, channel), views in `memory` or
 * of the learned table. The two may share rows. The input has been checked. */
Status make_position_tables(const PositionInput &input, Call &call, Scratch<float> &memory, attune_tensor &query_table,
                            attune_tensor &key_table);

/** q or k, [B,H,T,D], with its position: written to `memory` as contiguous [B,H,T,D] of x's own type. */
Status apply_position(const text::Position &position, const attune_tensor &x, const attune_tensor &table, Call &call, Scratch<char> &memory,
                      attune_tensor &result);

} // namespace attune::runtime
