#include "runtime/src/cache/kv_cache.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

Status check_desc(const attune_kv_cache_desc &desc) {
    ATTUNE_TRY(check_type(desc.dtype, "desc", {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16, ATTUNE_I8}, "dtype"));
    constexpr int32_t most_layers = INT32_MAX / 4; // of four pools each
    ATTUNE_REQUIRE(desc.layers >= 1 && desc.layers <= most_layers, "desc.layers is {}; it must be 1 to {}", desc.layers, most_layers);
    const struct {
        const char *name;
        int64_t value, least;
    } sizes[] = {{"kv_heads", desc.kv_heads, 1}, {"head_dim", desc.head_dim, 1},       {"value_dim", desc.value_dim, 0},
                 {"capacity", desc.capacity, 1}, {"page_tokens", desc.page_tokens, 0}, {"pages", desc.pages, 1}};
    for (const auto &size : sizes)
        ATTUNE_REQUIRE(size.value >= size.least && size.value <= INT32_MAX / 2, "desc.{} is {}; it must be {} to {}", size.name, size.value,
                       size.least, INT32_MAX / 2);
    return {};
}

} // namespace

Status KvCache::create(const attune_kv_cache_desc &desc) {
    ATTUNE_TRY(check_desc(desc));
    constexpr int64_t usual_page_tokens = 64;
    layers_ = desc.layers, capacity_ = desc.capacity;
    page_tokens_ = std::min(desc.page_tokens > 0 ? desc.page_tokens : usual_page_tokens, capacity_);
    pools_per_layer_ = desc.dtype == ATTUNE_I8 ? 4 : 2;
    const int64_t value_dim = desc.value_dim > 0 ? desc.value_dim : desc.head_dim;
    for (int32_t layer = 0; layer < layers_; ++layer) {
        ATTUNE_TRY(add_pool(desc.pages, desc.kv_heads, desc.head_dim, desc.dtype));
        ATTUNE_TRY(add_pool(desc.pages, desc.kv_heads, value_dim, desc.dtype));
        for (int32_t scales = 2; scales < pools_per_layer_; ++scales)
            ATTUNE_TRY(add_pool(desc.pages, desc.kv_heads, 0, ATTUNE_F32));
    }
    readers_.assign(static_cast<size_t>(desc.pages), 0);
    free_pages_.resize(static_cast<size_t>(desc.pages));
    std::iota(free_pages_.rbegin(), free_pages_.rend(), 0); // page 0 is taken first
    return {};
}

/** One pool more; `dim` 0: of scales, one number a token. */
Status KvCache::add_pool(int64_t pages, int64_t heads, int64_t dim, attune_type type) {
    const int64_t extent[] = {pages, heads, page_tokens_, dim};
    Pool pool = {};
    pool.token_bytes = std::max<int64_t>(dim, 1) * static_cast<int64_t>(attune_type_size(type));
    ATTUNE_TRY(check_count("the cache", {pages, heads, page_tokens_, pool.token_bytes}));
    pool.run_bytes = page_tokens_ * pool.token_bytes, pool.page_bytes = heads * pool.run_bytes;
    if (!pool.memory.allocate(static_cast<size_t>(pages * pool.page_bytes)))
        return fail(ATTUNE_OUT_OF_MEMORY, "the cache's {} bytes for part {} of {} can't be had", pages * pool.page_bytes, pools_.size() + 1,
                    layers_ * pools_per_layer_);
    pool.tensor = attune_contiguous(pool.memory.data(), type, dim > 0 ? 4 : 3, extent);
    ATTUNE_TRY(check_tensor(pool.tensor, {"the cache", type, 3, 4, Role::output, false}));
    pools_.push_back(std::move(pool));
    return {};
}

Status KvCache::check_sequence(int64_t sequence) const {
    const auto count = static_cast<int64_t>(sequences_.size());
    const bool there = sequence >= 0 && sequence < count && sequences_[static_cast<size_t>(sequence)].in_use;
    ATTUNE_REQUIRE(there, "sequence is {}; the cache has none of that number", sequence);
    return {};
}

Status KvCache::add(int64_t &sequence) {
    const auto unused = std::find_if(sequences_.begin(), sequences_.end(), [](const Sequence &s) { return !s.in_use; });
    sequence = unused - sequences_.begin();
    if (unused == sequences_.end()) sequences_.emplace_back();
    sequences_[static_cast<size_t>(sequence)].in_use = true;
    return {};
}

Status KvCache::fork(int64_t from, int64_t tokens, int64_t &sequence) {
    ATTUNE_TRY(check_sequence(from));
    const int64_t length = sequences_[static_cast<size_t>(from)].length;
    ATTUNE_REQUIRE(tokens >= 0 && tokens <= length, "tokens is {}; it must be 0 to {}, the sequence's length", tokens, length);
    const std::vector<int32_t> &source = sequences_[static_cast<size_t>(from)].pages;
    std::vector<int32_t> shared(source.begin(), source.begin() + pages_for(tokens));
    int64_t added = 0;
    ATTUNE_TRY(add(added));
    for (int32_t page : shared)
        ++readers_[static_cast<size_t>(page)];
    Sequence &fork = sequences_[static_cast<size_t>(added)];
    fork.pages = std::move(shared), fork.length = tokens;
    sequence = added;
    return {};
}

Status KvCache::truncate(int64_t sequence, int64_t tokens) {
    ATTUNE_TRY(check_sequence(sequence));
    Sequence &shortened = sequences_[static_cast<size_t>(sequence)];
    ATTUNE_REQUIRE(tokens >= 0 && tokens <= shortened.length, "tokens is {}; it must be 0 to {}, the sequence's length", tokens,
                   shortened.length);
    drop_batch();
    shortened.length = tokens;
    release_pages(shortened, pages_for(tokens));
    return {};
}

Status KvCache::remove(int64_t sequence) {
    ATTUNE_TRY(truncate(sequence, 0));
    sequences_[static_cast<size_t>(sequence)].in_use = false;
    return {};
}

int64_t KvCache::length(int64_t sequence) const {
    const auto count = static_cast<int64_t>(sequences_.size());
    if (sequence < 0 || sequence >= count || !sequences_[static_cast<size_t>(sequence)].in_use) return -1;
    return sequences_[static_cast<size_t>(sequence)].length;
}

int32_t KvCache::take_page() {
    const int32_t page = free_pages_.back();
    free_pages_.pop_back();
    readers_[static_cast<size_t>(page)] = 1;
    return page;
}

/** Gives back the sequence's hold on all pages but the first `kept`. */
void KvCache::release_pages(Sequence &sequence, int64_t kept) {
    while (static_cast<int64_t>(sequence.pages.size()) > kept) {
        const int32_t page = sequence.pages.back();
        sequence.pages.pop_back();
        if (--readers_[static_cast<size_t>(page)] == 0) free_pages_.push_back(page);
    }
}

} // namespace attune::runtime
