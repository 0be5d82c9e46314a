// What kernels call whose output no cache would hold: schedules/x86/stream_stores.h puts the calls there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace attune::runtime {

/** Copies `bytes` bytes: whole lines of `to` by copy_line(to, from), the rest by ordinary stores. With each line as much is asked for of
 * what will be read at `next`, so that the memory always has both to do. */
template <typename CopyLine> void stream(char *to, const char *from, int64_t bytes, const char *next, const CopyLine &copy_line) {
    constexpr int64_t line = 64;
    const auto to_line = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) % line);
    const int64_t head = std::min(to_line, bytes), end = head + (bytes - head) / line * line;
    if (head > 0) std::memcpy(to, from, static_cast<size_t>(head));
    for (int64_t at = head; at < end; at += line) {
        __builtin_prefetch(next + at);
        copy_line(to + at, from + at);
    }
    if (end < bytes) std::memcpy(to + end, from + end, static_cast<size_t>(bytes - end));
}

} // namespace attune::runtime

/** Copies `bytes` bytes, whole lines of `to` past the caches, which are not read before; see attune::runtime::stream. Other threads see
 * them after attune_stream_end(). The second is for CPUs with AVX-512, in whose queue of stores a line takes one place of four. */
extern "C" int attune_stream(char *to, const char *from, int64_t bytes, const char *next);
extern "C" int attune_stream_avx512(char *to, const char *from, int64_t bytes, const char *next);

/** Puts what this thread has streamed before all it stores from now on. */
extern "C" int attune_stream_end();
