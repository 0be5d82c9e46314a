#include "stream_watch.h"

using attune::test::watch;

attune::test::StreamWatch attune::test::watch;

namespace {

void note(const char *to, const char *from, int64_t bytes, const char *next, int next_is_far) {
    if (bytes == 0) return;
    watch.bytes += bytes, ++watch.calls;
    if (watch.places) watch.places->push_back(to);
    if (watch.asked) watch.asked->push_back(next);
    if (watch.asked_far) watch.asked_far->push_back(next_is_far != 0);
    if (watch.buffers) watch.buffers->insert(from);
}

} // namespace

extern "C" {

decltype(attune_stream) __real_attune_stream, __real_attune_stream_avx512, __real_attune_stream_halves_avx512;

int64_t __real_attune_least_streamed_bytes();
int64_t __wrap_attune_least_streamed_bytes() { // all of what is part of a large output
    return __real_attune_least_streamed_bytes() == 0 ? 0 : watch.least_streamed.load();
}
int32_t __wrap_attune_streamed_bytes_ahead() { return watch.bytes_ahead; }
int32_t __wrap_attune_streamed_heads_in_turn() { return watch.turns.heads; }
int32_t __wrap_attune_streamed_tokens_in_turn() { return watch.turns.tokens; }
int32_t __wrap_attune_streams_any_in_turn() { return watch.turns.any ? 1 : 0; }
int32_t __wrap_attune_streamed_turns_are_far() { return watch.turns.far ? 1 : 0; }
int32_t __wrap_attune_pipelines_all_rows() { return watch.pipelines_all_rows ? 1 : 0; }

int __wrap_attune_stream(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    note(to, from, bytes, next, next_is_far);
    return __real_attune_stream(to, from, bytes, next, next_is_far);
}
int __wrap_attune_stream_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    watch.bytes_in_lines_of_avx512 += bytes;
    note(to, from, bytes, next, next_is_far);
    return __real_attune_stream_avx512(to, from, bytes, next, next_is_far);
}
int __wrap_attune_stream_halves_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    watch.bytes_in_lines_of_avx512 += bytes;
    note(to, from, bytes, next, next_is_far);
    return __real_attune_stream_halves_avx512(to, from, bytes, next, next_is_far);
}
}
