#include "runtime/src/kernel/threads.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace attune::runtime::threads_test {
namespace {

struct Count {
    std::vector<std::atomic<int>> runs;
    explicit Count(size_t size) : runs(size) {}
    bool all_once() const {
        for (const auto &run : runs)
            if (run != 1) return false;
        return true;
    }
};

int count_task(void *closure, int32_t index) {
    ++static_cast<Count *>(closure)->runs[static_cast<size_t>(index)];
    return 0;
}

bool runs_all_once(int32_t threads, int32_t count) {
    Count counted(static_cast<size_t>(count));
    return parallel_for(threads, count, count_task, &counted) == 0 && counted.all_once();
}

TEST(Threads, RunEveryTaskOnce) {
    for (int32_t threads : {1, 2, 3, 7, 16})
        for (int32_t count : {0, 1, 2, 3, 15, 1000})
            for (int repeat = 0; repeat < 20; ++repeat)
                ASSERT_TRUE(runs_all_once(threads, count)) << threads << " threads, " << count << " tasks";
}

/** Each task waits until as many as `wanted` run at once, or gives up after a while. */
struct Meeting {
    int wanted;
    std::atomic<int> here{0};
};

int meet(void *closure, int32_t) {
    auto &meeting = *static_cast<Meeting *>(closure);
    ++meeting.here;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (meeting.here < meeting.wanted)
        if (std::chrono::steady_clock::now() > limit) return 1;
    return 0;
}

TEST(Threads, RunTogether) {
    Meeting meeting{4};
    EXPECT_EQ(parallel_for(4, 4, meet, &meeting), 0);
}

int meet_and_fault(void *closure, int32_t index) {
    const int code = meet(closure, index);
    asm volatile("ud2");
    return code;
}

/** The program's handler of a fault is called on whichever thread it is. */
TEST(Threads, LeaveTheirFaultsToTheProgram) {
    struct sigaction skip = {}, before;
    skip.sa_flags = SA_SIGINFO;
    skip.sa_sigaction = [](int, siginfo_t *, void *context) { static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP] += 2; };
    ASSERT_EQ(sigaction(SIGILL, &skip, &before), 0);
    Meeting meeting{4};
    EXPECT_EQ(parallel_for(4, 4, meet_and_fault, &meeting), 0);
    sigaction(SIGILL, &before, nullptr);
}

TEST(Threads, ReturnTheFirstErrorAndSkipTheRest) {
    std::atomic<int> runs{0};
    const auto task = [](void *closure, int32_t index) {
        ++*static_cast<std::atomic<int> *>(closure);
        return index == 5 ? 17 : 0;
    };
    EXPECT_EQ(parallel_for(1, 1000, task, &runs), 17);
    EXPECT_EQ(runs, 6);
    runs = 0;
    EXPECT_EQ(parallel_for(3, 100000, task, &runs), 17);
    EXPECT_LT(runs, 100000);
}

int nested(void *closure, int32_t) {
    const auto self = std::this_thread::get_id();
    std::set<std::thread::id> seen;
    struct Inner {
        std::set<std::thread::id> &seen;
    } inner{seen};
    if (!inside_task()) return 1;
    parallel_for(
        4, 10,
        [](void *data, int32_t) {
            static_cast<Inner *>(data)->seen.insert(std::this_thread::get_id());
            return 0;
        },
        &inner);
    static_cast<std::atomic<int> *>(closure)->fetch_add(1);
    return seen == std::set<std::thread::id>{self} ? 0 : 2;
}

TEST(Threads, RunInnerLoopsInline) {
    std::atomic<int> done{0};
    EXPECT_EQ(parallel_for(3, 50, nested, &done), 0);
    EXPECT_EQ(done, 50);
    EXPECT_FALSE(inside_task());
}

TEST(Threads, ServeConcurrentCalls) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int32_t i = 0; i < 6; ++i)
        callers.emplace_back([&wrong, i] {
            for (int repeat = 0; repeat < 200; ++repeat)
                if (!runs_all_once(1 + (i + repeat) % 5, 1 + repeat % 70)) ++wrong;
        });
    for (std::thread &caller : callers)
        caller.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Threads, WorkInAForkedChild) {
    ASSERT_TRUE(runs_all_once(3, 100));
    const pid_t child = fork();
    if (child == 0) {
        Meeting meeting{3};
        _exit(runs_all_once(3, 100) && parallel_for(3, 3, meet, &meeting) == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(runs_all_once(3, 100));
}

/** Threads of this process that are bound to fewer CPUs than it is. */
int bound_threads() {
    cpu_set_t all, some;
    sched_getaffinity(getpid(), sizeof(all), &all);
    int bound = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task"))
        if (sched_getaffinity(std::stoi(task.path().filename()), sizeof(some), &some) == 0) bound += !CPU_EQUAL(&all, &some);
    return bound;
}

// Though a new thread is bound as the one is that makes it.
TEST(Threads, ServeTheWholeProcessWhoeverMadeThem) {
    if (available_cpus() < 2) GTEST_SKIP() << "there is one CPU";
    std::thread([] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        EXPECT_TRUE(runs_all_once(40, 80)); // more workers than there have been
    }).join();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (bound_threads() > 0 && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // until the last has begun
    EXPECT_EQ(bound_threads(), 0);
}

TEST(Threads, CountAtLeastOneCpu) { EXPECT_GE(available_cpus(), 1); }

} // namespace
} // namespace attune::runtime::threads_test
