#include "runtime/src/kernel/stream.h"

#include <immintrin.h>

namespace {

using attune::runtime::bytes_per_line; // a vector

__m512i line_at(const char *from) { return _mm512_loadu_si512(from); }
void stream_line(char *to, const __m512i &line) { _mm512_stream_si512(reinterpret_cast<__m512i *>(to), line); }
void store_bytes(char *to, const __m512i &line, int64_t begin, int64_t end) {
    _mm512_mask_storeu_epi8(to, ~uint64_t{0} << begin & ~uint64_t{0} >> (bytes_per_line - end), line);
}

/** The line that begins so many bytes before a vector, made of that and the one before: a load that spans two stores would wait until both
 * have left their queue. Of elements of 32 bits that is one operation, of 16 bits three. */
template <typename Element> class JoinVectors {
public:
    explicit JoinVectors(int64_t bytes_before) {
        constexpr int64_t count = bytes_per_line / int64_t{sizeof(Element)};
        alignas(bytes_per_line) Element places[count];
        for (int64_t i = 0; i < count; ++i)
            places[i] = static_cast<Element>(count - bytes_before / static_cast<int64_t>(sizeof(Element)) + i);
        elements = _mm512_load_si512(places);
    }
    __m512i operator()(const char *vector) const {
        if (sizeof(Element) == 4) return _mm512_permutex2var_epi32(line_at(vector - bytes_per_line), elements, line_at(vector));
        return _mm512_permutex2var_epi16(line_at(vector - bytes_per_line), elements, line_at(vector));
    }

private:
    __m512i elements;
};

struct Lines {
    void stream(char *to, const char *from) const { stream_line(to, line_at(from)); }
    void store(char *to, const char *from, int64_t begin, int64_t end) const { store_bytes(to, line_at(from), begin, end); }
    void keep(char *from, int64_t bytes) const {
        const int64_t past = bytes % bytes_per_line; // whole vectors
        const char *last = from + (bytes - past);
        _mm512_storeu_si512(from - bytes_per_line,
                            past == 0 ? line_at(last - bytes_per_line) : JoinVectors<uint16_t>(bytes_per_line - past)(last));
    }
};

/** By two stores each. */
struct HalvedLines {
    void stream(char *to, const char *from) const {
        for (int half = 0; half < 2; half++) {
            const auto *vector = reinterpret_cast<const __m256i *>(from) + half;
            _mm256_stream_si256(reinterpret_cast<__m256i *>(to) + half, _mm256_loadu_si256(vector));
        }
    }
};

/** For lines that begin within vectors. */
template <typename Element> class JoinedLines : public Lines {
public:
    explicit JoinedLines(int64_t bytes_before) : before(bytes_before), join(bytes_before) {}
    void stream(char *to, const char *from) const { stream_line(to, join(from + before)); }

private:
    const int64_t before;
    const JoinVectors<Element> join;
};

// Apart, so that whole lines need none of its registers saved: rows of a quarter of a kilobyte take 0.92 of the time.
[[gnu::noinline]] void stream_joined(char *to, char *from, int64_t bytes, const char *next, bool far) {
    using attune::runtime::stream;
    const int64_t into = attune::runtime::into_line(to);
    if (into == 0)
        stream(to, from, bytes, next, far, Lines());
    else if (into % 4 == 0)
        stream(to, from, bytes, next, far, JoinedLines<uint32_t>(into));
    else
        stream(to, from, bytes, next, far, JoinedLines<uint16_t>(into));
}

/** By `Whole` where all are whole lines. */
template <typename Whole> int stream_by(char *to, char *from, int64_t bytes, const char *next, bool far) {
    const bool are_lines = (reinterpret_cast<uintptr_t>(to) | static_cast<uint64_t>(bytes)) % bytes_per_line == 0;
    if (are_lines && attune::runtime::asks_first) {
        if (next)
            for (int64_t at = 0; at < bytes; at += bytes_per_line)
                attune::runtime::ask_for(next, far, at);
        attune::runtime::stream_lines(to, from, 0, bytes, nullptr, far, Whole());
    } else if (are_lines) {
        attune::runtime::stream_lines(to, from, 0, bytes, next, far, Whole());
    } else {
        stream_joined(to, from, bytes, next, far);
    }
    return 0;
}

} // namespace

extern "C" int attune_stream_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    return stream_by<Lines>(to, from, bytes, next, next_is_far != 0);
}

extern "C" int attune_stream_halves_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    return stream_by<HalvedLines>(to, from, bytes, next, next_is_far != 0);
}
