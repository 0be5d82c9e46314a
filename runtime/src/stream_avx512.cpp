#include "stream.h"

#include <immintrin.h>

namespace {

__m512i line_at(const char *from) { return _mm512_loadu_si512(from); }
void stream_line(char *to, const __m512i &line) { _mm512_stream_si512(reinterpret_cast<__m512i *>(to), line); }
void store_bytes(char *to, const __m512i &line, int64_t begin, int64_t end) {
    _mm512_mask_storeu_epi8(to, ~uint64_t{0} << begin & ~uint64_t{0} >> (64 - end), line);
}

struct Lines {
    void stream(char *to, const char *from) const { stream_line(to, line_at(from)); }
    void store(char *to, const char *from, int64_t begin, int64_t end) const { store_bytes(to, line_at(from), begin, end); }
    void move(char *to, const char *from) const { _mm512_storeu_si512(to, line_at(from)); }
};

/** For lines that begin within a vector that was stored: a load that spans two stores would wait until both have left their queue. Of
 * elements of 32 bits one operation joins two vectors, of 16 bits three do. */
template <typename Element> class JoinVectors : public Lines {
public:
    explicit JoinVectors(int64_t bytes_before) : before(bytes_before) {
        constexpr int64_t count = 64 / sizeof(Element);
        alignas(64) Element places[count];
        for (int64_t i = 0; i < count; ++i)
            places[i] = static_cast<Element>(count - bytes_before / static_cast<int64_t>(sizeof(Element)) + i);
        elements = _mm512_load_si512(places);
    }
    void stream(char *to, const char *from) const { stream_line(to, joined(from)); }

private:
    const int64_t before;
    __m512i elements;

    __m512i joined(const char *from) const {
        const char *second = from + before;
        if (sizeof(Element) == 4) return _mm512_permutex2var_epi32(line_at(second - 64), elements, line_at(second));
        return _mm512_permutex2var_epi16(line_at(second - 64), elements, line_at(second));
    }
};

} // namespace

extern "C" int attune_stream_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    using namespace attune::runtime;
    const bool far = next_is_far != 0;
    const int64_t into = into_line(to);
    if (into == 0 && bytes % bytes_per_line == 0)
        stream_lines(to, from, bytes, next, far, Lines());
    else if (into == 0)
        stream(to, from, bytes, next, far, Lines());
    else if (into % 4 == 0)
        stream(to, from, bytes, next, far, JoinVectors<uint32_t>(into));
    else
        stream(to, from, bytes, next, far, JoinVectors<uint16_t>(into));
    return 0;
}
