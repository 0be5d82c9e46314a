#include "stream.h"

#include <emmintrin.h>

#include "last_level_cache.h"

namespace {

struct CopyLine {
    void operator()(char *to, const char *from) const {
        auto *place = reinterpret_cast<__m128i *>(to);
        const auto *vectors = reinterpret_cast<const __m128i *>(from);
        _mm_stream_si128(place, _mm_loadu_si128(vectors));
        _mm_stream_si128(place + 1, _mm_loadu_si128(vectors + 1));
        _mm_stream_si128(place + 2, _mm_loadu_si128(vectors + 2));
        _mm_stream_si128(place + 3, _mm_loadu_si128(vectors + 3));
    }
};

} // namespace

extern "C" int attune_stream(char *to, char *from, int64_t bytes, int begins, int ends, const char *next, int next_is_far) {
    attune::runtime::stream(to, from, bytes, {begins != 0, ends != 0, next, next_is_far != 0}, CopyLine());
    return 0;
}

// Measured where the cache holds 32 MiB: an output of 16 MiB is written faster past it, one of 8 MiB isn't.
extern "C" int64_t attune_least_streamed_bytes() {
    static const int64_t bytes = attune::runtime::last_level_cache_bytes() / 2;
    return bytes;
}

extern "C" int attune_stream_end() {
    _mm_sfence();
    return 0;
}
