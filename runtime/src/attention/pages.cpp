#include "runtime/src/attention/pages.h"

#include <algorithm>
#include <numeric>

#include "runtime/src/attention/cache_append.h"

namespace attune::runtime {

namespace {

constexpr int32_t first_page = 0;

int32_t rounds_of(const attune_cache *cache) { return cache && cache->ring ? 2 : 1; }

// Calls visit(page) once for each column of the table whose page takes new tokens of item b: a ring may come back to the one it began with.
template <typename Visit> void for_each_written(const attune_cache &cache, int64_t b, int64_t new_tokens, const Visit &visit) {
    int64_t first = -1;
    for_each_run(cache, b, new_tokens, [&](const PageRun &run) {
        if (run.token == 0) first = run.column;
        if (run.token == 0 || run.column != first) visit(static_cast<int32_t>(run.page));
    });
}

} // namespace

Status RunPages::fill(const attune_cache *cache, const AttentionShape &s) {
    batch_ = s.batch;
    return cache && cache->block_table ? fill_table(*cache, s) : fill_own_pages(cache, s);
}

Status RunPages::fill_own_pages(const attune_cache *cache, const AttentionShape &s) {
    table_ = &first_page;
    pages_ = rounds_of(cache), batch_stride_ = 1, page_stride_ = 0;
    if (s.batch <= 1) return {};
    if (!memory_.allocate(static_cast<size_t>(s.batch))) return out_of_memory("the table of pages", s.batch * 4);
    std::iota(memory_.data(), memory_.data() + s.batch, 0);
    table_ = memory_.data();
    return {};
}

Status RunPages::fill_table(const attune_cache &cache, const AttentionShape &s) {
    ATTUNE_TRY(check_written(cache, s));
    const int64_t columns = cache.block_table->extent[1], size = cache.k.extent[2], rounds = rounds_of(&cache);
    pages_ = columns * rounds, batch_stride_ = pages_, page_stride_ = 1;
    const int64_t count = s.batch * pages_;
    ATTUNE_REQUIRE(count <= INT32_MAX, "cache.block_table has {} entries, {} in the rounds of a ring; there must be at most {}",
                   s.batch * columns, count, INT32_MAX);
    if (!memory_.allocate(static_cast<size_t>(count))) return out_of_memory("the table of pages", count * 4);
    int32_t *to = memory_.data();
    for (int64_t b = 0; b < s.batch; ++b, to += pages_) {
        const int64_t tokens = std::min(read_integer(cache.lengths, b) + s.new_keys, columns * size);
        for (int64_t p = 0; p < columns; ++p)
            to[p] = p * size < tokens ? static_cast<int32_t>(read_integer(*cache.block_table, b, p)) : first_page;
        std::copy_n(to, pages_ - columns, to + columns);
    }
    table_ = memory_.data();
    return {};
}

Status RunPages::check_written(const attune_cache &cache, const AttentionShape &s) {
    int64_t count = 0;
    for (int64_t b = 0; b < s.batch; ++b)
        for_each_written(cache, b, s.new_keys, [&](int32_t) { ++count; });
    if (!written_.allocate(static_cast<size_t>(count))) return out_of_memory("the list of pages", count * 4);
    int32_t *const begin = written_.data(), *end = begin;
    for (int64_t b = 0; b < s.batch; ++b)
        for_each_written(cache, b, s.new_keys, [&](int32_t page) { *end++ = page; });
    std::sort(begin, end);
    const int32_t *twice = std::adjacent_find(begin, end);
    ATTUNE_REQUIRE(twice == end, "cache.block_table has page {} for new tokens in two places; each must have a page of its own", *twice);
    return {};
}

HalideBuffer RunPages::buffer() const { return HalideBuffer(table_, ATTUNE_I32, {{batch_, batch_stride_}, {pages_, page_stride_}}); }

} // namespace attune::runtime
