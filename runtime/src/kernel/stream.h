// What kernels call whose output no cache would hold: schedules/x86/stream_stores.h puts the calls there.
#pragma once

#include <cstdint>

namespace attune::runtime {

/** What a stream has come to. It lies two lines before the buffer from which the stream goes on, and between them is the line that it ends
 * in, as far as that is made: its last bytes are just before the buffer. */
struct Streamed {
    char *end = nullptr;
    int64_t others = 0; // bytes that line has before the stream's first
};

constexpr int64_t bytes_per_line = 64, bytes_before_stream = 2 * bytes_per_line;

inline Streamed &streamed_from(char *from) { return *reinterpret_cast<Streamed *>(from - bytes_before_stream); }
inline int64_t into_line(const char *address) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) % bytes_per_line); }

/** Whether what is read next is asked for before any of the lines is written, not with each: measured on Zen 4, with AVX-512, where rotary
 * embedding takes 0.85 to 0.95 of the time so. (Hidden, as an address that is looked up first, in each call, takes that back.) */
[[gnu::visibility("hidden")]] extern const bool asks_first;

inline void ask_for(const char *next, bool next_is_far, int64_t at) {
    if (!next) return;
    next_is_far ? __builtin_prefetch(next + at, 0, 2) : __builtin_prefetch(next + at);
}

/** Lines past the caches, of bytes `begin` to `end`: a line of `to` begins at the first. With each the memory is asked for what it will
 * have to read, so that it always has both to do. */
template <typename Lines>
void stream_lines(char *to, const char *from, int64_t begin, int64_t end, const char *next, bool next_is_far, const Lines &lines) {
    for (int64_t at = begin; at < end; at += bytes_per_line) {
        ask_for(next, next_is_far, at);
        lines.stream(to + at, from + at);
    }
}

/** Writes what a stream has made of the line that it ends in. */
template <typename Lines> void end_stream(char *from, const Lines &lines) {
    const Streamed &stream = streamed_from(from);
    const int64_t made = into_line(stream.end);
    if (made > stream.others) lines.store(stream.end - made, from - made, stream.others, made);
}

/** What attune_stream() says, by `lines`: stream(to, from) writes a line past the caches, store(to, from, begin, end) some bytes of one,
 * and keep(from, bytes) moves the last line's worth of so many bytes to before them. */
template <typename Lines> void stream(char *to, char *from, int64_t bytes, const char *next, bool next_is_far, const Lines &lines) {
    Streamed &stream = streamed_from(from);
    const int64_t into = into_line(to), end = (into + bytes) / bytes_per_line * bytes_per_line - into;
    if (to != stream.end) {
        end_stream(from, lines);
        stream.others = into;
    }
    int64_t at = -into;
    if (stream.others > 0 && at < end) {
        ask_for(next, next_is_far, at);
        lines.store(to + at, from + at, stream.others, bytes_per_line);
        stream.others = 0, at += bytes_per_line;
    }
    stream_lines(to, from, at, end, next, next_is_far, lines);
    if (end < bytes) lines.keep(from, bytes);
    stream.end = to + bytes;
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

/** Writes `bytes` bytes to an even address, whole lines of it past the caches, which are not read before. What goes on where the last call
 * from the same buffer ended is one stream with it, and the line between them is written as a whole: so 128 bytes before `from`, as
 * attune_stream_begin() leaves them, and 64 after its end belong to the buffer, which begins a line. `next`, if it isn't NULL, is what will
 * be read later, of which as much is asked for, into the second-level cache alone if next_is_far. All that was given is written, and other
 * threads see it, after attune_stream_end(). The others are for CPUs with AVX-512, in whose queue of stores a line takes one place of
 * four, or two: where little but memory is waited for, whole lines come too fast, and norms from memory take 0.78 to 0.98 of the time by
 * halves (Granite Rapids; softmax and rotary embedding 0.97 to 1.05). */
extern "C" int attune_stream(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
extern "C" int attune_stream_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
extern "C" int attune_stream_halves_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
extern "C" int attune_stream_begin(char *from);
extern "C" int attune_stream_end(char *from);

/** From how many bytes on an output is written past the caches: half of what the last-level cache holds, for an output and its input, and
 * 32 MiB at most, as a process can't count on all of a cache that many share; from 0 bytes on where it is part of one that large. */
extern "C" int64_t attune_least_streamed_bytes();

/** How many bytes ahead of a row that is streamed what is read for later ones is asked for. */
extern "C" int32_t attune_streamed_bytes_ahead();

/** How heads of rotary embedding take turns: how many of them; how many tokens they have before other heads come; whether those of long
 * rows do, too, and those that begin within lines; and whether what each reads next is asked for into the second-level cache alone. */
extern "C" int32_t attune_streamed_heads_in_turn();
extern "C" int32_t attune_streamed_tokens_in_turn();
extern "C" int32_t attune_streams_any_in_turn();
extern "C" int32_t attune_streamed_turns_are_far();

/** Whether rows that are streamed are pipelined (schedules/lowered/pipeline_rows.h) whatever their length, or those alone that schedules
 * know to gain on AMD's CPUs. */
extern "C" int32_t attune_pipelines_all_rows();
