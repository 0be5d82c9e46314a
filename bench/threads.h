// Timing work that runs on several threads at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace attune::bench {

/** Seconds on a clock that never goes back. */
inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/** Runs work(thread) on `threads` threads, the caller's being thread 0, released together. Seconds from the first start to the
 * last end: starting a thread, some 20 us, doesn't count. */
template <typename Work> double time_together(int32_t threads, const Work &work) {
    std::vector<double> start(static_cast<std::size_t>(threads)), end(start.size());
    std::atomic<int32_t> missing{threads};
    const auto body = [&](int32_t thread) {
        for (--missing; missing > 0;)
            std::this_thread::yield();
        start[static_cast<std::size_t>(thread)] = now();
        work(thread);
        end[static_cast<std::size_t>(thread)] = now();
    };
    std::vector<std::thread> others;
    for (int32_t thread = 1; thread < threads; ++thread)
        others.emplace_back(body, thread);
    body(0);
    for (std::thread &other : others)
        other.join();
    return *std::max_element(end.begin(), end.end()) - *std::min_element(start.begin(), start.end());
}

} // namespace attune::bench
