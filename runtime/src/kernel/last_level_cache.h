// How much of a computation stays in the machine's caches.
#pragma once

#include <cstdint>

namespace attune::runtime {

/** Bytes of the last-level cache that the calling CPU shares with its neighbours; 32 MiB where the CPU doesn't say. That of a whole
 * package, which sysconf() may give, can be many such caches. */
int64_t last_level_cache_bytes();

} // namespace attune::runtime
