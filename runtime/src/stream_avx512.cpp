#include "stream.h"

#include <cstring>
#include <immintrin.h>

namespace {

struct CopyLine {
    void operator()(char *to, const char *from) const { _mm512_stream_si512(reinterpret_cast<__m512i *>(to), _mm512_loadu_si512(from)); }
};

/** For a line that begins within a vector that was stored, at an element of 16 bits or more: a load that spans two stores would wait until
 * both have left their queue. */
class JoinVectors {
public:
    explicit JoinVectors(int bytes_before) : before_(bytes_before) {
        alignas(64) uint16_t words[32];
        for (int i = 0; i < 32; ++i)
            words[i] = static_cast<uint16_t>(32 - bytes_before / 2 + i);
        words_ = _mm512_load_si512(words);
    }
    void operator()(char *to, const char *from) const {
        const char *second = from + before_;
        const __m512i line = _mm512_permutex2var_epi16(_mm512_loadu_si512(second - 64), words_, _mm512_loadu_si512(second));
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to), line);
    }

private:
    int before_;
    __m512i words_;
};

} // namespace

extern "C" int attune_stream_avx512(char *to, char *from, int64_t bytes, int begins, int ends, const char *next, int next_is_far) {
    const attune::runtime::StreamedPart part = {begins != 0, ends != 0, next, next_is_far != 0};
    const auto into_line = static_cast<int>(reinterpret_cast<uintptr_t>(to) % 64);
    if (into_line > 0)
        attune::runtime::stream(to, from, bytes, part, JoinVectors(into_line));
    else
        attune::runtime::stream(to, from, bytes, part, CopyLine());
    return 0;
}

extern "C" int attune_stream_lines_avx512(char *to, const char *from, int64_t bytes, const char *next) {
    const attune::runtime::StreamedPart part = {true, true, next, true};
    int64_t at = 0;
    for (; at + 64 <= bytes; at += 64) {
        ask_for(part, at);
        CopyLine()(to + at, from + at);
    }
    if (at < bytes) std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
    return 0;
}
