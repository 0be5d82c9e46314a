// Sequences of tokens that share pages: which page holds what, and who else reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attune/attune.h"
#include "runtime/src/divided_up.h"
#include "runtime/src/kernel/page_memory.h"
#include "runtime/src/status.h"

namespace attune::runtime {

/** A part of one layer's cache, keys or values or the scales of either: `page_bytes` a page. */
struct Pool {
    PageMemory memory;
    attune_tensor tensor;                       // [P,Hkv,S,D], or [P,Hkv,S] of scales
    int64_t token_bytes, run_bytes, page_bytes; // of a token of one head, of S of them, of all heads
};

struct Sequence {
    bool in_use = false;
    int64_t length = 0;
    std::vector<int32_t> pages; // ceil(length / S); in an open batch with those of the new tokens
};

/** See attune.h. Every function checks all it needs before it changes anything. */
class KvCache {
public:
    Status create(const attune_kv_cache_desc &desc);
    Status add(int64_t &sequence);
    Status fork(int64_t from, int64_t tokens, int64_t &sequence);
    Status truncate(int64_t sequence, int64_t tokens);
    Status remove(int64_t sequence);
    Status begin(const int64_t *sequences, int64_t count, int64_t new_tokens);
    Status layer(int32_t layer, attune_cache &view) const;
    Status end();

    int64_t length(int64_t sequence) const; // -1: there is none of that number
    int64_t free_pages() const { return static_cast<int64_t>(free_pages_.size()); }

private:
    Status add_pool(int64_t pages, int64_t heads, int64_t dim, attune_type type);
    Status check_sequence(int64_t sequence) const;
    Status check_batch(const int64_t *sequences, int64_t count, int64_t new_tokens) const;
    int64_t pages_for(int64_t tokens) const { return divided_up(tokens, page_tokens_); }
    int64_t pages_needed(const int64_t *sequences, int64_t count, int64_t new_tokens) const;
    int32_t take_page();
    void release_pages(Sequence &sequence, int64_t kept);
    void copy_tokens(int32_t from, int32_t to, int64_t tokens);
    void extend(Sequence &sequence, int64_t new_tokens);
    int64_t pages_of_batch() const;
    void drop_batch();

    int32_t layers_ = 0, pools_per_layer_ = 2;
    int64_t capacity_ = 0, page_tokens_ = 0;
    std::vector<Pool> pools_;      // of each layer: k, v and, of i8, their scales
    std::vector<int32_t> readers_; // of each page: how many sequences have it
    std::vector<int32_t> free_pages_;
    std::vector<Sequence> sequences_;

    // The batch between `begin` and `end`, as layers' views point to it.
    bool open_ = false;
    std::vector<int64_t> batch_;
    int64_t new_tokens_ = 0;
    std::vector<int32_t> lengths_, table_;
    attune_tensor lengths_tensor_ = {}, table_tensor_ = {};
};

} // namespace attune::runtime

struct attune_kv_cache : attune::runtime::KvCache {};
