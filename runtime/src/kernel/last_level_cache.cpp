#include "runtime/src/kernel/last_level_cache.h"

#include <algorithm>
#include <cpuid.h>

namespace attune::runtime {

namespace {

constexpr unsigned intel = 4, amd = 0x8000001d; // leaves of CPUID, of one format

unsigned bits(unsigned word, int first, int count) { return (word >> first) & ((1u << count) - 1); }

/** Bytes of the largest cache that a leaf lists, 0 if there is none. */
int64_t largest_cache(unsigned leaf) {
    int64_t largest = 0;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    for (unsigned index = 0; index < 16; ++index) {
        if (__get_cpuid_count(leaf, index, &eax, &ebx, &ecx, &edx) == 0 || bits(eax, 0, 5) == 0) break;
        const int64_t ways = bits(ebx, 22, 10) + 1, partitions = bits(ebx, 12, 10) + 1, line = bits(ebx, 0, 12) + 1;
        largest = std::max(largest, ways * partitions * line * (int64_t{ecx} + 1));
    }
    return largest;
}

} // namespace

int64_t last_level_cache_bytes() {
    const int64_t largest = std::max(largest_cache(intel), largest_cache(amd));
    return largest > 0 ? largest : int64_t{32} << 20;
}

} // namespace attune::runtime
