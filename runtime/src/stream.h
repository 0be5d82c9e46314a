// What kernels call whose output no cache would hold: schedules/x86/stream_stores.h puts the calls there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace attune::runtime {

/** The part of a row that is streamed at once. */
struct StreamedPart {
    bool begins, ends; // the row
    const char *next;  // what will be read later, of which as much is asked for, or nullptr
    bool next_is_far;  // into the second-level cache alone
};

inline void ask_for(const StreamedPart &part, int64_t at) {
    if (!part.next) return;
    part.next_is_far ? __builtin_prefetch(part.next + at, 0, 2) : __builtin_prefetch(part.next + at);
}

/** Streams `bytes` bytes from a buffer with copy_line(to, from) for whole lines of `to`, as attune_stream() says. With each line the memory
 * is asked for what it will have to read, so that it always has both to do. */
template <typename CopyLine> void stream(char *to, char *from, int64_t bytes, const StreamedPart &part, const CopyLine &copy_line) {
    constexpr int64_t line = 64;
    const auto into_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % line);
    const int64_t end = (into_line + bytes) / line * line - into_line;
    int64_t at = -into_line;
    if (part.begins && into_line > 0) {
        at = std::min(line - into_line, bytes);
        ask_for(part, 0);
        std::memcpy(to, from, static_cast<size_t>(at));
    }
    for (; at < end; at += line) {
        ask_for(part, at);
        copy_line(to + at, from + at);
    }
    if (part.ends && at < bytes) std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
    if (!part.ends && into_line > 0) std::memcpy(from - line, from + bytes - line, line);
}

/** While it lives, what kernels of this thread write is part of an output of so many bytes, and goes past the caches where that would:
 * see attune_least_streamed_bytes(). */
class PartsOfOutput {
public:
    explicit PartsOfOutput(int64_t bytes) noexcept;
    ~PartsOfOutput();
    PartsOfOutput(const PartsOfOutput &) = delete;
    PartsOfOutput &operator=(const PartsOfOutput &) = delete;

private:
    const int64_t before;
};

} // namespace attune::runtime

/** Copies `bytes` bytes of a row to an even address, whole lines past the caches, which are not read before. Where the row goes on, `bytes`
 * is a multiple of a line, and what makes no whole line is moved to before `from`, where the next part's call finds it. So 64 bytes before
 * `from` and after its end belong to the buffer. `next`, if it isn't NULL, is what will be read later, of which as much is asked for. Other
 * threads see what was written after attune_stream_end(). The second is for CPUs with AVX-512, in whose queue of stores a line takes one
 * place of four. */
extern "C" int attune_stream(char *to, char *from, int64_t bytes, int begins, int ends, const char *next, int next_is_far);
extern "C" int attune_stream_avx512(char *to, char *from, int64_t bytes, int begins, int ends, const char *next, int next_is_far);

/** The same for what begins a line and is all of its stream. What is asked for, if `next` isn't NULL, comes no nearer than the second-level
 * cache. */
extern "C" int attune_stream_lines_avx512(char *to, const char *from, int64_t bytes, const char *next);

/** From how many bytes on an output is written past the caches: half of what the last-level cache holds, for an output and its input, and
 * 32 MiB at most, as a process can't count on all of a cache that many share; from 0 bytes on where it is part of one that large. */
extern "C" int64_t attune_least_streamed_bytes();

/** How many bytes ahead of a row that is streamed what is read for later ones is asked for. */
extern "C" int32_t attune_streamed_bytes_ahead();

/** How many heads of rotary embedding take turns, and how many parts ahead of its own what each reads is asked for; 0: it isn't. */
extern "C" int32_t attune_streamed_heads_in_turn();
extern "C" int32_t attune_streamed_parts_ahead();

/** Whether rows that are streamed are pipelined (schedules/pipeline_rows.h): on Intel's CPUs. */
extern "C" int32_t attune_pipelines_rows();

/** Puts what this thread has streamed before all it stores from now on. */
extern "C" int attune_stream_end();
