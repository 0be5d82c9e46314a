// Copies a large buffer, in several streams at once as read_bandwidth.cpp reads one.
#include <algorithm>
#include <limits>
#include <string_view>

#include <immintrin.h>

#include "attune/attune.h"
#include "bench/buffer.h"
#include "bench/machine.h"
#include "bench/threads.h"

namespace attune::bench {
namespace {

constexpr int streams = 4, passes = 3;
constexpr int64_t line = 64, prefetch_ahead = 2048; // bytes

using Copy = void (*)(const char *from, char *to, int64_t bytes);

// Ordinary stores read a line before they write it; the others go past the caches.
template <bool past_caches> __attribute__((target("avx512f"))) void copy_avx512(const char *from, char *to, int64_t bytes) {
    const int64_t each = bytes / streams;
    for (int64_t at = 0; at < each; at += line) {
#pragma GCC unroll 4
        for (int s = 0; s < streams; ++s) {
            _mm_prefetch(from + s * each + at + prefetch_ahead, _MM_HINT_T0);
            const __m512i value = _mm512_load_si512(from + s * each + at);
            auto *place = reinterpret_cast<__m512i *>(to + s * each + at);
            past_caches ? _mm512_stream_si512(place, value) : _mm512_store_si512(place, value);
        }
    }
    _mm_sfence();
}

template <bool past_caches> __attribute__((target("sse2"))) void copy_sse2(const char *from, char *to, int64_t bytes) {
    const int64_t each = bytes / streams;
    for (int64_t at = 0; at < each; at += line) {
#pragma GCC unroll 4
        for (int s = 0; s < streams; ++s) {
            _mm_prefetch(from + s * each + at + prefetch_ahead, _MM_HINT_T0);
            for (int64_t in_line = 0; in_line < line; in_line += int64_t{sizeof(__m128i)}) {
                const __m128i value = _mm_load_si128(reinterpret_cast<const __m128i *>(from + s * each + at + in_line));
                auto *place = reinterpret_cast<__m128i *>(to + s * each + at + in_line);
                past_caches ? _mm_stream_si128(place, value) : _mm_store_si128(place, value);
            }
        }
    }
    _mm_sfence();
}

} // namespace

double measure_copy_bandwidth(int32_t threads) {
    const bool wide = std::string_view(attune_cpu_class()).substr(0, 6) == "avx512";
    const Copy copies[] = {wide ? copy_avx512<false> : copy_sse2<false>, wide ? copy_avx512<true> : copy_sse2<true>};
    const int64_t unit = line * streams * threads;
    const int64_t wanted = std::min({4 * last_level_cache_bytes(), int64_t{1} << 30, available_memory_bytes() / 4});
    const int64_t bytes = wanted / unit * unit, share = bytes / threads;
    if (share == 0) return 0;
    const Buffer from = make_buffer(bytes / int64_t{sizeof(float)}), to = make_buffer(bytes / int64_t{sizeof(float)});
    std::fill_n(from.get(), bytes / int64_t{sizeof(float)}, 1.0f); // pages never written are all the same page of zeros
    std::fill_n(to.get(), bytes / int64_t{sizeof(float)}, 0.0f);
    double fastest = std::numeric_limits<double>::infinity();
    for (int pass = 0; pass < passes; ++pass)
        for (const Copy copy : copies)
            fastest = std::min(fastest, time_together(threads, [&](int32_t thread) {
                                   copy(reinterpret_cast<const char *>(from.get()) + thread * share,
                                        reinterpret_cast<char *>(to.get()) + thread * share, share);
                               }));
    return 2 * double(bytes) / fastest * 1e-9;
}

} // namespace attune::bench
