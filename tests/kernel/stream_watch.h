// What kernels write past the caches, watched: the linker's --wrap sends their calls of the runtime's functions here (see CMakeLists.txt).
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "attune/attune.h"

extern "C" {
int attune_stream(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
int attune_stream_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
int attune_stream_halves_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
int attune_stream_begin(char *from);
int attune_stream_end(char *from);
}

namespace attune::test {

/** What the runtime answers about heads that take turns: for Intel's CPUs, and for others. */
struct Turns {
    int32_t heads, tokens;
    bool any, far;
};
constexpr Turns turns_of_intels = {8, 256, true, true}, turns_of_others = {4, 1024, false, false};

struct StreamWatch {
    std::atomic<int64_t> bytes, bytes_in_lines_of_avx512, calls; // written past the caches

    // What the runtime says, whatever the machine is.
    std::atomic<int64_t> least_streamed;
    int32_t bytes_ahead = 8192;
    Turns turns = turns_of_intels;
    bool pipelines_all_rows = true;

    // If somebody asks, of one thread: where to it is written, what for is asked meanwhile and how far, and where from it is written.
    std::vector<const char *> *places = nullptr, *asked = nullptr;
    std::vector<bool> *asked_far = nullptr;
    std::set<const char *> *buffers = nullptr;

    void forget() { bytes = bytes_in_lines_of_avx512 = calls = 0; }
};
extern StreamWatch watch;

inline bool has_avx512() { return std::string_view(attune_cpu_class()).substr(0, 6) == "avx512"; }
inline bool has_avx2() { return has_avx512() || std::string_view(attune_cpu_class()) == "avx2"; }

} // namespace attune::test
