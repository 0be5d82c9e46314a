#include "runtime/src/kernel/last_level_cache.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/src/kernel/stream.h"

namespace attune::runtime::last_level_cache_test {
namespace {

/** Bytes of the largest cache of the first CPU, as the operating system tells them; 0 where it doesn't. */
int64_t told_by_system() {
    int64_t largest = 0;
    for (int index = 0; index < 8; index++) {
        std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
        int64_t kib = 0;
        if (file >> kib) largest = std::max(largest, kib * 1024);
    }
    return largest;
}

TEST(LastLevelCache, IsAsLargeAsTheSystemSays) {
    const int64_t told = told_by_system();
    if (told == 0) GTEST_SKIP() << "the system doesn't tell the sizes of its caches";
    EXPECT_EQ(last_level_cache_bytes(), told);
}

TEST(LastLevelCache, HoldsAnInputAndItsOutputBelowWhatIsStreamed) {
    EXPECT_EQ(attune_least_streamed_bytes(), std::min<int64_t>(last_level_cache_bytes() / 2, 32 << 20));
    EXPECT_GE(attune_least_streamed_bytes(), 64 << 10);
}

TEST(LastLevelCache, IsToHoldAllOfAnOutputThatIsWrittenInParts) {
    const int64_t least = attune_least_streamed_bytes();
    {
        const PartsOfOutput large(least);
        EXPECT_EQ(attune_least_streamed_bytes(), 0);
        std::thread([&] { EXPECT_EQ(attune_least_streamed_bytes(), least) << "another thread writes another output"; }).join();
        const PartsOfOutput small(least - 1);
        EXPECT_EQ(attune_least_streamed_bytes(), least);
    }
    EXPECT_EQ(attune_least_streamed_bytes(), least);
}

} // namespace
} // namespace attune::runtime::last_level_cache_test
