#include "runtime/src/error.h"

extern "C" void attune_cache_init(attune_cache *cache) {
    if (attune::runtime::reset(cache)) cache->new_tokens = -1;
}
