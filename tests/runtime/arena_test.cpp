#include "runtime/src/kernel/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/src/kernel/internal.h"

namespace attune::runtime::arena_test {
namespace {

TEST(Arena, HasBlocksThatHoldWhatIsAskedFor) {
    for (size_t bytes = 0; bytes < 3000000; bytes += bytes < 5000 ? 1 : 977) {
        const size_t index = class_of_size(bytes);
        ASSERT_GE(size_of_class(index), bytes);
        ASSERT_TRUE(index == 0 || size_of_class(index - 1) < bytes);
        ASSERT_TRUE(bytes < 1024 || size_of_class(index) <= bytes + bytes / 4 + 64);
    }
    for (size_t i = 0; i < block_classes; ++i)
        ASSERT_EQ(class_of_size(size_of_class(i)), i);
}

TEST(Arena, AlignsBlocksAndLeavesRoomAroundThem) {
    Arena arena;
    for (const size_t bytes : std::initializer_list<size_t>{0, 1, 63, 64, 65, 1000, 100000}) {
        auto *block = static_cast<char *>(arena.allocate(bytes));
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
        std::memset(block, 1, (bytes + 63) / 64 * 64);
        volatile char before = block[-8], after = block[(bytes + 63) / 64 * 64 + 7];
        static_cast<void>(before), static_cast<void>(after);
        Arena::release(block);
    }
    Arena::release(nullptr);
}

TEST(Arena, AnswersNullWhereMemoryRunsOut) {
    Arena arena;
    EXPECT_EQ(arena.allocate(SIZE_MAX), nullptr);
}

TEST(Arena, GrowsAndTellsSoOnce) {
    Arena arena;
    const size_t index = class_of_size(5000);
    Arena::release(arena.allocate(5000));
    EXPECT_TRUE(arena.has_grown());
    EXPECT_FALSE(arena.has_grown());
    EXPECT_EQ(arena.blocks(index), 1u);
    ASSERT_TRUE(arena.grow_to(index, 3));
    const int64_t count = attune_internal_allocation_count();
    void *held[3];
    for (void *&block : held)
        block = arena.allocate(5000);
    EXPECT_EQ(attune_internal_allocation_count(), count);
    for (void *block : held)
        Arena::release(block);
    arena.drop(index);
    EXPECT_EQ(arena.blocks(index), 0u);
}

} // namespace
} // namespace attune::runtime::arena_test
