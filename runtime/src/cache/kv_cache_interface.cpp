// The C interface of KvCache.
#include <memory>

#include "runtime/src/cache/kv_cache.h"
#include "runtime/src/error.h"

using namespace attune::runtime;

namespace {

template <typename Body> attune_status guarded_cache(attune_kv_cache *cache, const Body &body) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(cache != nullptr, "cache is NULL");
        return body(*cache);
    });
}

} // namespace

extern "C" attune_status attune_kv_cache_create(const attune_kv_cache_desc *desc, attune_kv_cache **cache) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(cache != nullptr, "cache is NULL; it must point to where the cache goes");
        ATTUNE_TRY(check_struct(desc, "desc", "ATTUNE_KV_CACHE_DESC_INIT"));
        auto made = std::make_unique<attune_kv_cache>();
        ATTUNE_TRY(made->create(*desc));
        *cache = made.release();
        return {};
    });
}

extern "C" void attune_kv_cache_destroy(attune_kv_cache *cache) { delete cache; }

extern "C" attune_status attune_kv_cache_add(attune_kv_cache *cache, int64_t *sequence) {
    return guarded_cache(cache, [&](KvCache &c) -> Status {
        ATTUNE_REQUIRE(sequence != nullptr, "sequence is NULL; it must point to where the number goes");
        return c.add(*sequence);
    });
}

extern "C" attune_status attune_kv_cache_fork(attune_kv_cache *cache, int64_t sequence, int64_t tokens, int64_t *fork) {
    return guarded_cache(cache, [&](KvCache &c) -> Status {
        ATTUNE_REQUIRE(fork != nullptr, "fork is NULL; it must point to where the number goes");
        return c.fork(sequence, tokens, *fork);
    });
}

extern "C" attune_status attune_kv_cache_truncate(attune_kv_cache *cache, int64_t sequence, int64_t tokens) {
    return guarded_cache(cache, [&](KvCache &c) { return c.truncate(sequence, tokens); });
}

extern "C" attune_status attune_kv_cache_remove(attune_kv_cache *cache, int64_t sequence) {
    return guarded_cache(cache, [&](KvCache &c) { return c.remove(sequence); });
}

extern "C" int64_t attune_kv_cache_length(const attune_kv_cache *cache, int64_t sequence) { return cache ? cache->length(sequence) : -1; }

extern "C" int64_t attune_kv_cache_free_pages(const attune_kv_cache *cache) { return cache ? cache->free_pages() : -1; }

extern "C" attune_status attune_kv_cache_begin(attune_kv_cache *cache, const int64_t *sequences, int64_t count, int64_t new_tokens) {
    return guarded_cache(cache, [&](KvCache &c) { return c.begin(sequences, count, new_tokens); });
}

extern "C" attune_status attune_kv_cache_layer(const attune_kv_cache *cache, int32_t layer, attune_cache *view) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(cache != nullptr && view != nullptr, "{} is NULL", cache ? "view" : "cache");
        return cache->layer(layer, *view);
    });
}

extern "C" attune_status attune_kv_cache_end(attune_kv_cache *cache) {
    return guarded_cache(cache, [](KvCache &c) { return c.end(); });
}
