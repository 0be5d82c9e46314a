#include "workspace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "attune/attune.h"
#include "internal.h"

namespace attune::runtime::workspace_test {
namespace {

TEST(Workspace, HasBlocksThatHoldWhatIsAskedFor) {
    for (size_t bytes = 0; bytes < 3000000; bytes += bytes < 5000 ? 1 : 977) {
        const size_t index = class_of_size(bytes);
        ASSERT_GE(size_of_class(index), bytes);
        ASSERT_TRUE(index == 0 || size_of_class(index - 1) < bytes);
        ASSERT_TRUE(bytes < 1024 || size_of_class(index) <= bytes + bytes / 4 + 64);
    }
    for (size_t i = 0; i < block_classes; ++i)
        ASSERT_EQ(class_of_size(size_of_class(i)), i);
}

TEST(Workspace, AlignsBlocksAndLeavesRoomAroundThem) {
    Workspace workspace;
    for (const size_t bytes : std::initializer_list<size_t>{0, 1, 63, 64, 65, 1000, 100000}) {
        auto *block = static_cast<char *>(workspace.allocate(bytes));
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
        std::memset(block, 1, (bytes + 63) / 64 * 64);
        volatile char before = block[-8], after = block[(bytes + 63) / 64 * 64 + 7];
        static_cast<void>(before), static_cast<void>(after);
        workspace.release(block);
    }
    workspace.release(nullptr);
}

TEST(Workspace, KeepsBlocksForTheNextCall) {
    Workspace workspace;
    workspace.begin_call();
    void *first = workspace.allocate(5000);
    workspace.release(first);
    const int64_t count = attune_internal_allocation_count();
    workspace.begin_call();
    void *again = workspace.allocate(4900);
    EXPECT_EQ(again, first);
    workspace.release(again);
    EXPECT_EQ(attune_internal_allocation_count(), count);
}

TEST(Workspace, TellsTheMostBytesHeldAtOnce) {
    Workspace workspace;
    workspace.begin_call();
    void *a = workspace.allocate(1000), *b = workspace.allocate(500);
    workspace.release(a);
    void *c = workspace.allocate(100);
    EXPECT_EQ(workspace.peak_bytes(), 1500u);
    workspace.release(b), workspace.release(c);
    workspace.begin_call();
    EXPECT_EQ(workspace.peak_bytes(), 0u);
}

TEST(Workspace, AnswersNullWhereMemoryRunsOut) {
    Workspace workspace;
    EXPECT_EQ(workspace.allocate(SIZE_MAX), nullptr);
}

/** A task that holds two blocks of one size and one of another. */
void run_task(Workspace &workspace) {
    TaskScope scope(workspace);
    void *a = workspace.allocate(3000), *b = workspace.allocate(3000), *c = workspace.allocate(70);
    workspace.release(a), workspace.release(b), workspace.release(c);
}

TEST(Workspace, KeepsBlocksForTasksThatDidntRunTogether) {
    Workspace workspace;
    workspace.begin_call();
    run_task(workspace); // all by the caller, as where the workers wake too late
    workspace.end_loop(3);
    const int64_t count = attune_internal_allocation_count();
    void *held[9];
    for (int i = 0; i < 6; ++i)
        held[i] = workspace.allocate(3000);
    for (int i = 6; i < 9; ++i)
        held[i] = workspace.allocate(70);
    EXPECT_EQ(attune_internal_allocation_count(), count);
    for (void *block : held)
        workspace.release(block);
}

TEST(Workspace, DropsSizesLongUnused) {
    Workspace workspace;
    workspace.begin_call();
    workspace.release(workspace.allocate(1 << 20));
    workspace.end_call();
    for (int call = 0; call < 3000; ++call) {
        workspace.begin_call();
        workspace.release(workspace.allocate(64));
        workspace.end_call();
    }
    const int64_t count = attune_internal_allocation_count();
    workspace.release(workspace.allocate(64));
    EXPECT_EQ(attune_internal_allocation_count(), count);
    workspace.release(workspace.allocate(1 << 20));
    EXPECT_EQ(attune_internal_allocation_count(), count + 1);
}

TEST(Workspace, ServesThreadsAtOnce) {
    Workspace workspace;
    workspace.begin_call();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&workspace, t] {
            for (size_t i = 0; i < 2000; ++i) {
                const size_t bytes = 64 + i % 7 * 300;
                auto *block = static_cast<unsigned char *>(workspace.allocate(bytes));
                std::memset(block, t, bytes);
                for (size_t k = 0; k < bytes; k += 50)
                    ASSERT_EQ(block[k], t);
                workspace.release(block);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

TEST(WorkspacePool, GivesConcurrentCallsTheirOwn) {
    Workspace *a = acquire_workspace(), *b = acquire_workspace();
    EXPECT_NE(a, b);
    return_workspace(b);
    EXPECT_EQ(acquire_workspace(), b);
    return_workspace(a), return_workspace(b);
    attune_release_memory();
}

} // namespace
} // namespace attune::runtime::workspace_test
