#include "runtime/src/cuda/cache.h"
#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

Status check_cache_kind(const attune_cache &cache) {
    if (cache.ring) return fail(ATTUNE_UNSUPPORTED, "cache.ring is set; a cache on device cuda is no ring");
    for (const auto &[scale, name] : {std::pair{cache.k_scale, "cache.k_scale"}, {cache.v_scale, "cache.v_scale"}})
        if (scale) return fail(ATTUNE_UNSUPPORTED, "{} is given; a cache on device cuda is of the plan's dtype, not of i8", name);
    return {};
}

Status check_device_cache(const attune_attention_args &args, const AttentionShape &s) {
    const attune_cache &cache = *args.cache;
    ATTUNE_TRY(check_tensor(cache.lengths, {"cache.lengths", ATTUNE_I32, 1, 1, Role::input, false, ATTUNE_CUDA}));
    ATTUNE_TRY(check_extents(cache.lengths, "cache.lengths", {{s.batch, "the batch of q"}}));
    const int64_t capacity = cache_capacity(cache);
    ATTUNE_REQUIRE(capacity <= most_tokens_on_cuda, "the cache has room for {} tokens an item; on device cuda it must be at most {}",
                   capacity, most_tokens_on_cuda);
    ATTUNE_REQUIRE(s.new_keys <= capacity, "k has {} new tokens; they must be at most {}, the cache's capacity", s.new_keys, capacity);
    ATTUNE_TRY((DeviceWrite{cache.k, args.k}.check("cache.k", "k")));
    return DeviceWrite{cache.v, args.v}.check("cache.v", "v");
}

} // namespace attune::runtime
