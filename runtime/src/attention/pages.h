// Where the tokens of keys and values lie: a kernel finds key j of an item in page j / S of the item's pages.
#pragma once

#include <cstdint>

#include "runtime/src/attention/cache.h"
#include "runtime/src/attention/checks.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/halide_buffer.h"

namespace attune::runtime {

/** The table of pages of one run, as kernels read it. */
class RunPages {
public:
    explicit RunPages(Call &call) : memory_(call), written_(call) {}

    /** Without a block table an item has one page, which holds all its tokens. Entries of a table that no token needs may be anything, so
     * it is copied. An error if two items would write to one page. */
    Status fill(const attune_cache *cache, const AttentionShape &shape);

    /** i32 [B, pages of an item]. */
    HalideBuffer buffer() const;

private:
    Status fill_own_pages(const attune_cache *cache, const AttentionShape &shape);
    Status fill_table(const attune_cache &cache, const AttentionShape &shape);
    Status check_written(const attune_cache &cache, const AttentionShape &shape);

    Scratch<int32_t> memory_, written_;
    const int32_t *table_ = nullptr;
    int64_t batch_ = 0, pages_ = 0, batch_stride_ = 0, page_stride_ = 0;
};

} // namespace attune::runtime
