// What one of Halide's hooks was before Attune's took its place.
#pragma once

#include <atomic>
#include <thread>

namespace attune::runtime {

/** For kernels called without a user_context. Halide shows other threads a hook a moment before it tells what that replaced: a kernel that
 * comes by then, called directly while the first call of Attune installs its hooks, waits. */
template <typename Function> class OriginalHook {
public:
    void note(Function function) { function_.store(function, std::memory_order_release); }

    template <typename... Args> auto operator()(Args... args) const {
        Function function = function_.load(std::memory_order_acquire);
        while (!function) {
            std::this_thread::yield();
            function = function_.load(std::memory_order_acquire);
        }
        return function(args...);
    }

private:
    std::atomic<Function> function_{nullptr};
};

} // namespace attune::runtime
