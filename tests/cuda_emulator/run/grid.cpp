#include "grid.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace attune::emulator {
namespace {

/** What the threads that run blocks share. */
struct Work {
    const Launch &launch;
    uint64_t blocks;
    std::atomic<uint64_t> next{0}, executed{0};
    std::mutex mutex;
    std::exception_ptr failure;
};

void run_blocks(Work &work) {
    try {
        Block block(work.launch);
        for (uint64_t i = work.next++; i < work.blocks; i = work.next++) {
            const uint64_t x = work.launch.grid[0], y = work.launch.grid[1];
            const uint32_t place[3] = {static_cast<uint32_t>(i % x), static_cast<uint32_t>(i / x % y), static_cast<uint32_t>(i / x / y)};
            block.run(place);
        }
        work.executed += block.executed();
    } catch (...) {
        const std::lock_guard<std::mutex> lock(work.mutex);
        if (!work.failure) work.failure = std::current_exception();
        work.next = work.blocks;
    }
}

} // namespace

uint64_t run_grid(const Launch &launch, unsigned threads) {
    Work work{launch, uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2], {0}, {0}, {}, nullptr};
    const auto count = static_cast<unsigned>(std::min<uint64_t>(std::max(threads, 1u), work.blocks));
    std::vector<std::thread> helpers;
    for (unsigned i = 1; i < count; ++i)
        helpers.emplace_back(run_blocks, std::ref(work));
    run_blocks(work);
    for (std::thread &helper : helpers)
        helper.join();
    if (work.failure) std::rethrow_exception(work.failure);
    return work.executed;
}

} // namespace attune::emulator
