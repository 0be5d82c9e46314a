// Where tokens stand: given number by number, or counted on from an offset. Kernels take positions as int32.
#pragma once

#include <cstdint>

#include "runtime/src/status.h"

namespace attune::runtime {

/** What says where the first token stands: an argument `offset` or `offsets`; what a cache holds; or, of queries, which are its last N,
 * that and how many more tokens than queries there are. */
enum class CountedFrom { offset, cache, cache_and_new };

/** The positions of `tokens` tokens in each of `batch` items, in one stream or several. */
struct Positions {
    const char *name = "positions";         // of `given`, for messages
    const attune_tensor *given = nullptr;   // i32 or i64: [tokens], [batch, tokens] or, with several streams, [streams, batch, tokens]
    const attune_tensor *offsets = nullptr; // otherwise, i32 or i64 [batch], checked: token t of item b stands at offsets[b] + t
    int64_t offset = 0;                     // otherwise, token t stands at offset + t
    CountedFrom counted_from = CountedFrom::offset; // for messages
    int64_t batch = 1, tokens = 0;
    int32_t streams = 1;
    attune_device device = ATTUNE_CPU; // of `given`: on ATTUNE_CUDA it is i32, and its numbers can't be looked at

    /** Items, and streams, that differ: 1 where all have the same. */
    int64_t own_batch() const;
    int64_t own_streams() const;
};

/** What positions may be. */
struct PositionLimit {
    int64_t low = INT32_MIN, high = INT32_MAX;
    const char *reason = "fit in 32 bits"; // what positions within do
};

/** Checks shape, type and values of what is given, or the ends of what is counted. No tokens stand nowhere. */
Status check_positions(const Positions &positions, const PositionLimit &limit = {});

/** Writes positions of tokens [first, first + count) to `numbers`, [own_batch, own_streams, count]. */
void write_positions(const Positions &positions, int64_t first, int64_t count, int32_t *numbers);

} // namespace attune::runtime
