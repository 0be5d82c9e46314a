// New tokens into the cache of a run.
#pragma once

#include <algorithm>

#include "runtime/src/attention/cache.h"
#include "runtime/src/tensor/integers.h"

namespace attune::runtime {

/** New tokens of one item that lie together in one page. */
struct PageRun {
    int64_t page, place; // of the first one in the cache
    int64_t column;      // of the block table, that has the page
    int64_t token, count;
};

/** Calls visit(run) for the runs of item b's new tokens, in order. */
template <typename Visit> void for_each_run(const attune_cache &cache, int64_t b, int64_t new_tokens, const Visit &visit) {
    const int64_t size = cache.k.extent[2], length = read_integer(cache.lengths, b);
    for (int64_t token = 0, count = 0; token < new_tokens; token += count) {
        const int64_t at = (length + token) % cache_capacity(cache); // only in a ring is it past that
        count = std::min(size - at % size, new_tokens - token);
        visit(PageRun{cache.block_table ? read_integer(*cache.block_table, b, at / size) : b, at % size, at / size, token, count});
    }
}

/** Writes k and v, [B,Hkv,T,D] and [B,Hkv,T,Dv], behind the tokens that each item has; to int8 caches as quantise_row has them. All has
 * been checked. */
void append(const attune_cache &cache, const attune_tensor &k, const attune_tensor &v);

} // namespace attune::runtime
