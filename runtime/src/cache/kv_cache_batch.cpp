// The sequences of one step: room for their new tokens, and what attention is shown of them.
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "runtime/src/cache/kv_cache.h"
#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

constexpr int32_t no_page = -1; // of tokens that aren't there

} // namespace

Status KvCache::check_batch(const int64_t *sequences, int64_t count, int64_t new_tokens) const {
    ATTUNE_REQUIRE(count >= 0 && (sequences || count == 0), "sequences is {}, count {}; there must be 0 or more sequences",
                   static_cast<const void *>(sequences), count);
    const auto there = std::count_if(sequences_.begin(), sequences_.end(), [](const Sequence &s) { return s.in_use; });
    ATTUNE_REQUIRE(count <= there, "count is {}; the cache has {} sequences, each of which may be there once", count, there);
    ATTUNE_REQUIRE(new_tokens >= 0, "new_tokens is {}; it must be 0 or more", new_tokens);
    std::vector<int64_t> sorted(sequences, sequences + count);
    for (int64_t sequence : sorted) {
        ATTUNE_TRY(check_sequence(sequence));
        const int64_t length = sequences_[static_cast<size_t>(sequence)].length;
        ATTUNE_REQUIRE(new_tokens <= capacity_ - length, "new_tokens is {}; sequence {} has {} tokens, and room for {} more", new_tokens,
                       sequence, length, capacity_ - length);
    }
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    ATTUNE_REQUIRE(twice == sorted.end(), "sequences has {} twice; it must have each once", *twice);
    return {};
}

/** Pages that must be taken: new ones, and copies of pages that are written to while another sequence reads them. */
int64_t KvCache::pages_needed(const int64_t *sequences, int64_t count, int64_t new_tokens) const {
    int64_t needed = 0;
    std::map<int32_t, int32_t> left; // readers of shared pages, the sequences before this one having taken copies
    for (int64_t i = 0; new_tokens > 0 && i < count; ++i) {
        const Sequence &sequence = sequences_[static_cast<size_t>(sequences[i])];
        needed += pages_for(sequence.length + new_tokens) - pages_for(sequence.length);
        if (sequence.length % page_tokens_ == 0) continue;
        const int32_t written = sequence.pages[static_cast<size_t>(sequence.length / page_tokens_)];
        const auto readers = left.emplace(written, readers_[static_cast<size_t>(written)]).first;
        if (readers->second > 1) --readers->second, ++needed;
    }
    return needed;
}

void KvCache::copy_tokens(int32_t from, int32_t to, int64_t tokens) {
    for (const Pool &pool : pools_)
        for (int64_t run = 0; run < pool.page_bytes; run += pool.run_bytes) // a head each
            std::memcpy(pool.memory.data() + to * pool.page_bytes + run, pool.memory.data() + from * pool.page_bytes + run,
                        static_cast<size_t>(tokens * pool.token_bytes));
}

/** Pages for new tokens, the first of them the sequence's alone. There are enough, and room to list them. */
void KvCache::extend(Sequence &sequence, int64_t new_tokens) {
    const int64_t kept = sequence.length % page_tokens_;
    if (kept > 0 && new_tokens > 0) {
        int32_t &page = sequence.pages[static_cast<size_t>(sequence.length / page_tokens_)];
        if (int32_t &readers = readers_[static_cast<size_t>(page)]; readers > 1) {
            --readers;
            const int32_t own = take_page();
            copy_tokens(page, own, kept);
            page = own;
        }
    }
    while (static_cast<int64_t>(sequence.pages.size()) < pages_for(sequence.length + new_tokens))
        sequence.pages.push_back(take_page());
}

/** Forgets a batch that had no end, and its new tokens. */
void KvCache::drop_batch() {
    for (int64_t number : batch_) {
        Sequence &sequence = sequences_[static_cast<size_t>(number)];
        release_pages(sequence, pages_for(sequence.length));
    }
    batch_.clear(), open_ = false;
}

/** Pages that drop_batch() would free. */
int64_t KvCache::pages_of_batch() const {
    int64_t pages = 0;
    for (int64_t number : batch_) {
        const Sequence &sequence = sequences_[static_cast<size_t>(number)];
        pages += static_cast<int64_t>(sequence.pages.size()) - pages_for(sequence.length);
    }
    return pages;
}

Status KvCache::begin(const int64_t *sequences, int64_t count, int64_t new_tokens) {
    ATTUNE_TRY(check_batch(sequences, count, new_tokens));
    const int64_t needed = pages_needed(sequences, count, new_tokens), columns = pages_for(capacity_);
    const int64_t available = free_pages() + pages_of_batch();
    if (needed > available)
        return fail(ATTUNE_OUT_OF_MEMORY, "the cache has {} free pages of {} tokens; {} sequences with {} new tokens each need {}",
                    available, page_tokens_, count, new_tokens, needed);
    // All memory first: the batch before this one is dropped only by one that succeeds.
    std::vector<int64_t> batch(sequences, sequences + count);
    std::vector<int32_t> lengths, table(static_cast<size_t>(count * columns), no_page);
    lengths.reserve(batch.size());
    for (int64_t number : batch) {
        Sequence &sequence = sequences_[static_cast<size_t>(number)];
        sequence.pages.reserve(static_cast<size_t>(pages_for(sequence.length + new_tokens)));
    }
    drop_batch();
    batch_ = std::move(batch), lengths_ = std::move(lengths), table_ = std::move(table), new_tokens_ = new_tokens;
    for (int64_t i = 0; i < count; ++i) {
        Sequence &sequence = sequences_[static_cast<size_t>(sequences[i])];
        extend(sequence, new_tokens);
        lengths_.push_back(static_cast<int32_t>(sequence.length));
        std::copy(sequence.pages.begin(), sequence.pages.end(), table_.begin() + i * columns);
    }
    const int64_t extents[] = {count, columns};
    lengths_tensor_ = attune_contiguous(lengths_.data(), ATTUNE_I32, 1, extents);
    table_tensor_ = attune_contiguous(table_.data(), ATTUNE_I32, 2, extents);
    open_ = true;
    return {};
}

Status KvCache::layer(int32_t layer, attune_cache &view) const {
    ATTUNE_REQUIRE(layer >= 0 && layer < layers_, "layer is {}; it must be 0 to {}", layer, layers_ - 1);
    ATTUNE_REQUIRE(open_, "layer is {}; there is no batch: attune_kv_cache_begin comes first", layer);
    attune_cache_init(&view);
    const Pool *pools = &pools_[static_cast<size_t>(layer) * static_cast<size_t>(pools_per_layer_)];
    view.k = pools[0].tensor, view.v = pools[1].tensor;
    if (pools_per_layer_ > 2) view.k_scale = &pools[2].tensor, view.v_scale = &pools[3].tensor;
    view.lengths = lengths_tensor_, view.block_table = &table_tensor_, view.new_tokens = new_tokens_;
    return {};
}

Status KvCache::end() {
    ATTUNE_REQUIRE(open_, "there is no batch to end: attune_kv_cache_begin comes first");
    for (int64_t sequence : batch_)
        sequences_[static_cast<size_t>(sequence)].length += new_tokens_;
    batch_.clear(), open_ = false;
    return {};
}

} // namespace attune::runtime
