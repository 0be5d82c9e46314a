#include "runtime/src/kernel/stream.h"

#include <algorithm>
#include <cstring>
#include <emmintrin.h>

#include "runtime/src/kernel/last_level_cache.h"

namespace {

thread_local int64_t bytes_of_output = 0; // by PartsOfOutput

/** 64 bytes. */
struct Line {
    __m128i quarters[4];

    explicit Line(const char *from) {
        const auto *vectors = reinterpret_cast<const __m128i *>(from);
        for (__m128i &quarter : quarters)
            quarter = _mm_loadu_si128(vectors++);
    }
};

struct Lines {
    void stream(char *to, const char *from) const {
        auto *place = reinterpret_cast<__m128i *>(to);
        for (const __m128i &quarter : Line(from).quarters)
            _mm_stream_si128(place++, quarter);
    }
    void keep(char *from, int64_t bytes) const {
        auto *place = reinterpret_cast<__m128i *>(from - attune::runtime::bytes_per_line);
        for (const __m128i &quarter : Line(from + bytes - attune::runtime::bytes_per_line).quarters)
            _mm_storeu_si128(place++, quarter);
    }
    void store(char *to, const char *from, int64_t begin, int64_t end) const {
        std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    }
};

bool is_intel() {
    static const bool intel = [] {
        __builtin_cpu_init();
        return __builtin_cpu_is("intel") != 0;
    }();
    return intel;
}

} // namespace

const bool attune::runtime::asks_first = !is_intel();

extern "C" int attune_stream(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    attune::runtime::stream(to, from, bytes, next, next_is_far != 0, Lines());
    return 0;
}

extern "C" int attune_stream_begin(char *from) {
    attune::runtime::streamed_from(from) = {};
    return 0;
}

extern "C" int attune_stream_end(char *from) {
    attune::runtime::end_stream(from, Lines());
    _mm_sfence();
    return 0;
}

// Measured where the cache holds 32 MiB: an output of 16 MiB is written faster past it, one of 8 MiB isn't. Two virtual CPUs of a Granite
// Rapids are told of 480 MiB and find some 64 of it theirs: softmax takes 0.67 of the time past it at 32 MiB, and 1.24 at 16.
extern "C" int64_t attune_least_streamed_bytes() {
    constexpr int64_t most_counted_on = int64_t{64} << 20;
    static const int64_t bytes = std::min(attune::runtime::last_level_cache_bytes(), most_counted_on) / 2;
    return bytes_of_output >= bytes ? 0 : bytes;
}

namespace attune::runtime {

PartsOfOutput::PartsOfOutput(int64_t bytes) noexcept : before(bytes_of_output) { bytes_of_output = bytes; }
PartsOfOutput::~PartsOfOutput() { bytes_of_output = before; }

} // namespace attune::runtime

// Measured on Zen 5, and on Granite Rapids, where norms by 4 KiB take 0.73 to 0.9 of the time that they take by 8.
extern "C" int32_t attune_streamed_bytes_ahead() { return is_intel() ? 4096 : 8192; }

// Measured on Emerald Rapids and Zen 4. There eight heads take 1.25 to 1.5 times as long as four, asked for as near; 256 tokens 1.1 to 1.2
// times as long as 1024, after which a table's rows still are in the second-level cache; and long rows in turn 1.2 to 1.6 times.
extern "C" int32_t attune_streamed_heads_in_turn() { return is_intel() ? 8 : 4; }
extern "C" int32_t attune_streamed_tokens_in_turn() { return is_intel() ? 256 : 1024; }
extern "C" int32_t attune_streams_any_in_turn() { return is_intel() ? 1 : 0; }
extern "C" int32_t attune_streamed_turns_are_far() { return is_intel() ? 1 : 0; }

// Measured on Emerald and Granite Rapids, and on Zen 4, where some rows take longer.
extern "C" int32_t attune_pipelines_all_rows() { return is_intel() ? 1 : 0; }
