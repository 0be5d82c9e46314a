#include "runtime/src/kernel/workspace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "attune/attune.h"
#include "runtime/src/kernel/internal.h"

namespace attune::runtime::workspace_test {
namespace {

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

/** Runs work(i) for i < count, each on a thread of its own. */
template <typename Work> void on_threads(int count, const Work &work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
        threads.emplace_back(work, t);
    for (std::thread &thread : threads)
        thread.join();
}

/** A task that holds two blocks of one size and one of another, and ends once `running` tasks more have begun. */
void run_task(Workspace &workspace, std::atomic<int> &running) {
    TaskScope scope(workspace);
    void *a = workspace.allocate(3000), *b = workspace.allocate(3000), *c = workspace.allocate(70);
    --running;
    while (running > 0)
        std::this_thread::yield();
    workspace.release(a), workspace.release(b), workspace.release(c);
}

void run_tasks(Workspace &workspace, int at_once) {
    std::atomic<int> running{at_once};
    on_threads(at_once, [&](int) { run_task(workspace, running); });
}

TEST(Workspace, KeepsBlocksForTasksThatDidntRunTogether) {
    Workspace workspace;
    workspace.begin_call();
    workspace.begin_loop(3);
    run_tasks(workspace, 1); // one after the other, as where workers wake too late
    run_tasks(workspace, 1);
    workspace.end_loop();
    const int64_t count = attune_internal_allocation_count();
    run_tasks(workspace, 3);
    EXPECT_EQ(attune_internal_allocation_count(), count);
    run_tasks(workspace, 4);
    EXPECT_EQ(attune_internal_allocation_count(), count + 3); // of the fourth
}

/** A loop of more threads than the one that made blocks, of whose tasks fewer ran at once than it has threads. */
TEST(Workspace, KeepsBlocksForThreadsThatAnEarlierLoopHadNot) {
    Workspace workspace;
    workspace.begin_call();
    workspace.begin_loop(3);
    workspace.end_loop(); // three arenas, and no block
    workspace.begin_loop(2);
    run_tasks(workspace, 2);
    workspace.end_loop();
    workspace.begin_loop(3);
    run_tasks(workspace, 2);
    workspace.end_loop();
    const int64_t count = attune_internal_allocation_count();
    workspace.begin_loop(3);
    run_tasks(workspace, 3);
    workspace.end_loop();
    EXPECT_EQ(attune_internal_allocation_count(), count);
}

TEST(Workspace, CountsTheMostOfEachThreadsTasks) {
    Workspace workspace;
    workspace.begin_call();
    void *of_call = workspace.allocate(1000);
    workspace.begin_loop(1);
    run_tasks(workspace, 1), run_tasks(workspace, 1);
    workspace.end_loop();
    EXPECT_EQ(workspace.peak_bytes(), 1000u + 6070u);
    workspace.begin_loop(2);
    run_tasks(workspace, 2);
    workspace.end_loop();
    EXPECT_EQ(workspace.peak_bytes(), 1000u + 2 * 6070u);
    workspace.release(of_call);
    workspace.begin_call();
    EXPECT_EQ(workspace.peak_bytes(), 0u);
}

TEST(Workspace, KeepsTheCallsBlocksFromItsTasks) {
    Workspace workspace, other;
    workspace.begin_call();
    void *of_call = workspace.allocate(3000);
    workspace.release(of_call);
    TaskScope scope(workspace);
    void *of_task = workspace.allocate(3000), *elsewhere = other.allocate(3000);
    EXPECT_NE(of_task, of_call);
    {
        TaskScope inner(other);
        void *within = other.allocate(3000);
        EXPECT_NE(within, elsewhere);
        workspace.release(within);
    }
    workspace.release(elsewhere);
    EXPECT_EQ(other.allocate(3000), elsewhere);
    workspace.release(elsewhere);
    workspace.release(of_task);
    EXPECT_EQ(workspace.allocate(3000), of_task);
    workspace.release(of_task);
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

TEST(Workspace, ServesTasksAtOnce) {
    Workspace workspace;
    workspace.begin_call();
    on_threads(4, [&workspace](int t) {
        for (size_t i = 0; i < 2000; ++i) {
            const TaskScope scope(workspace);
            const size_t bytes = 64 + i % 7 * 300;
            auto *block = static_cast<unsigned char *>(workspace.allocate(bytes));
            std::memset(block, t, bytes);
            for (size_t k = 0; k < bytes; k += 50)
                ASSERT_EQ(block[k], t);
            workspace.release(block);
        }
    });
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
