// Sums over a large buffer, and copies one, in several streams at once: one stream alone leaves the memory idle at every page's end
// (measured: 13.4 GB/s with one stream of 128-bit loads, 17.6 with four of 512). Some copy faster in one: 50 GB/s on Zen 4, and in four 40.
// Zen 4 reads faster what it asks for into the second-level cache: 33 GB/s, and 29 into the first. Of a buffer that outgrows the caches
// fourfold they still hold a part: with 32 MiB of them it reads 35 GB/s of 128 MiB, 31 of 2 GiB in one stream, and 26 in four far apart.
#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <immintrin.h>

#include "attune/attune.h"
#include "bench/buffer.h"
#include "bench/machine.h"
#include "bench/threads.h"

namespace attune::bench {
namespace {

using Hint = decltype(_MM_HINT_T0); // an enumeration of GCC's, and of Clang an int

constexpr int streams = 4, lines_at_once = 4, first_passes = 3;
constexpr double rest_seconds = 0.25;                                    // from one sample to the next
constexpr int64_t line = 64, prefetch_ahead = 2048, ahead_of_one = 4096; // bytes

/** Adds up all of `data`; returns a part of the sum, on which every read has a bearing. */
using Sum = int64_t (*)(const char *data, int64_t bytes);

// Four lines at a time, one of each stream or four of one.
template <int streams, Hint nearness> __attribute__((target("avx512f"))) int64_t sum_avx512(const char *data, int64_t bytes) {
    constexpr int64_t lines = lines_at_once / streams, ahead = streams == 1 ? ahead_of_one : prefetch_ahead;
    __m512i sum[lines_at_once] = {};
    const int64_t each = bytes / streams;
    for (int64_t at = 0; at < each; at += lines * line) {
#pragma GCC unroll 4
        for (int i = 0; i < lines_at_once; ++i) {
            const char *from = data + i / lines * each + at + i % lines * line;
            _mm_prefetch(from + ahead, nearness);
            sum[i] = _mm512_add_epi64(sum[i], _mm512_loadu_si512(from));
        }
    }
    int64_t total = 0;
    for (const __m512i &part : sum)
        total += part[0];
    return total;
}

template <int streams, Hint nearness> int64_t sum_sse2(const char *data, int64_t bytes) {
    constexpr int64_t lines = lines_at_once / streams, ahead = streams == 1 ? ahead_of_one : prefetch_ahead;
    __m128i sum[lines_at_once] = {};
    const int64_t each = bytes / streams;
    for (int64_t at = 0; at < each; at += lines * line) {
#pragma GCC unroll 4
        for (int i = 0; i < lines_at_once; ++i) {
            const auto *from = reinterpret_cast<const __m128i *>(data + i / lines * each + at + i % lines * line);
            _mm_prefetch(reinterpret_cast<const char *>(from) + ahead, nearness);
            for (int vector = 0; vector < 4; ++vector)
                sum[i] = _mm_add_epi64(sum[i], _mm_loadu_si128(from + vector));
        }
    }
    int64_t total = 0;
    for (const __m128i &part : sum)
        total += part[0];
    return total;
}

using Copy = void (*)(const char *from, char *to, int64_t bytes);

// Ordinary stores read a line before they write it; the others go past the caches.
template <int streams, bool past_caches> __attribute__((target("avx512f"))) void copy_avx512(const char *from, char *to, int64_t bytes) {
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

template <int streams, bool past_caches> __attribute__((target("sse2"))) void copy_sse2(const char *from, char *to, int64_t bytes) {
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

bool wide() { return std::string_view(attune_cpu_class()).substr(0, 6) == "avx512"; }

/** Of each of so many buffers, `least` or what outgrows the caches, if there is memory: a multiple of a line for every stream of every
 * thread. */
int64_t buffer_bytes(int32_t threads, int64_t buffers, int64_t least = 0) {
    const int64_t uncached = std::min(4 * last_level_cache_bytes(), int64_t{1} << 30);
    const int64_t wanted = std::min(std::max(uncached, least), available_memory_bytes() / (2 * buffers));
    const int64_t unit = line * streams * threads;
    return wanted / unit * unit;
}

/** All of its pages are there: those never written are all the same page of zeros. */
Buffer filled_buffer(int64_t bytes, float value) {
    const int64_t count = bytes / int64_t{sizeof(float)};
    Buffer buffer = make_buffer(count);
    std::fill_n(buffer.get(), count, value);
    return buffer;
}

double read_once(int32_t threads, const Buffer &buffer, int64_t bytes, int64_t rounds) {
    const Sum with_avx512[] = {sum_avx512<streams, _MM_HINT_T0>, sum_avx512<streams, _MM_HINT_T1>, sum_avx512<1, _MM_HINT_T1>};
    const Sum with_sse2[] = {sum_sse2<streams, _MM_HINT_T0>, sum_sse2<streams, _MM_HINT_T1>, sum_sse2<1, _MM_HINT_T1>};
    const int64_t share = bytes / threads;
    const auto *data = reinterpret_cast<const char *>(buffer.get());
    std::vector<int64_t> totals(static_cast<std::size_t>(threads));
    double fastest = std::numeric_limits<double>::infinity();
    for (const Sum sum : wide() ? with_avx512 : with_sse2)
        fastest = std::min(fastest, time_together(threads, [&](int32_t thread) {
                               for (int64_t round = 0; round < rounds; ++round)
                                   totals[static_cast<std::size_t>(thread)] += sum(data + thread * share, share);
                           }));
    volatile int64_t sink = 0;
    for (int64_t total : totals)
        sink = sink + total; // keeps the loops from being optimised away
    return double(rounds * bytes) / fastest * 1e-9;
}

double copy_once(int32_t threads, const Buffer &from, const Buffer &to, int64_t bytes) {
    const Copy with_avx512[] = {copy_avx512<1, false>, copy_avx512<1, true>, copy_avx512<streams, false>, copy_avx512<streams, true>};
    const Copy with_sse2[] = {copy_sse2<1, false>, copy_sse2<1, true>, copy_sse2<streams, false>, copy_sse2<streams, true>};
    const int64_t share = bytes / threads;
    double fastest = std::numeric_limits<double>::infinity();
    for (const Copy copy : wide() ? with_avx512 : with_sse2)
        fastest = std::min(fastest, time_together(threads, [&](int32_t thread) {
                               copy(reinterpret_cast<const char *>(from.get()) + thread * share,
                                    reinterpret_cast<char *>(to.get()) + thread * share, share);
                           }));
    return 2 * double(bytes) / fastest * 1e-9;
}

Bandwidth no_memory() {
    return Bandwidth([] { return 0.0; });
}

} // namespace

Bandwidth::Bandwidth(std::function<double()> pass) : pass_(std::move(pass)) {
    for (int i = 0; i < first_passes; ++i)
        gbps_ = std::max(gbps_, pass_());
    last_ = now();
}

void Bandwidth::sample() {
    if (now() - last_ <= rest_seconds) return;
    gbps_ = std::max(gbps_, pass_());
    last_ = now();
}

Bandwidth read_bandwidth(int32_t threads, int64_t bytes_at_once) {
    const int64_t bytes = buffer_bytes(threads, 1, bytes_at_once);
    if (bytes == 0) return no_memory();
    const auto buffer = std::make_shared<Buffer>(filled_buffer(bytes, 1));
    const int64_t rounds = std::max<int64_t>((bytes_at_once + bytes - 1) / bytes, 1);
    return Bandwidth([=] { return read_once(threads, *buffer, bytes, rounds); });
}

Bandwidth copy_bandwidth(int32_t threads) {
    const int64_t bytes = buffer_bytes(threads, 2);
    if (bytes == 0) return no_memory();
    const auto from = std::make_shared<Buffer>(filled_buffer(bytes, 1)), to = std::make_shared<Buffer>(filled_buffer(bytes, 0));
    return Bandwidth([=] { return copy_once(threads, *from, *to, bytes); });
}

} // namespace attune::bench
