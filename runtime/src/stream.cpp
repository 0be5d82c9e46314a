#include "stream.h"

#include <emmintrin.h>

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

extern "C" int attune_stream(char *to, const char *from, int64_t bytes, const char *next) {
    attune::runtime::stream(to, from, bytes, next, CopyLine());
    return 0;
}

extern "C" int attune_stream_end() {
    _mm_sfence();
    return 0;
}
