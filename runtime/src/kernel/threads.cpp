#include "runtime/src/kernel/threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace attune::runtime {

namespace {

// Waking a sleeping thread takes some 5 to 50 us; loops of one call follow each other faster than that.
constexpr std::chrono::microseconds spin_time{30};

thread_local bool in_task = false;

/** One parallel loop, on its caller's stack. */
struct Job {
    Task task;
    void *closure;
    int32_t count;
    std::atomic<int32_t> next{0};
    std::atomic<int32_t> helpers{0}; // workers inside; guarded by the pool's mutex except for the caller's peeks
    std::atomic<int> result{0};
    int32_t wanted = 0; // workers that may still join; guarded by the pool's mutex
    Job *later = nullptr;

    Job(Task task_, void *closure_, int32_t count_) : task(task_), closure(closure_), count(count_) {}

    void work() {
        InsideTask inside;
        int32_t index = 0;
        while (result.load(std::memory_order_relaxed) == 0 && (index = next.fetch_add(1, std::memory_order_relaxed)) < count) {
            int none = 0;
            if (const int code = task(closure, index)) result.compare_exchange_strong(none, code);
        }
    }
};

/** Waits a little for `ready`, without sleeping. */
template <typename Ready> bool spin_until(const Ready &ready) {
    const auto limit = std::chrono::steady_clock::now() + spin_time;
    while (!ready()) {
        for (int i = 0; i < 32 && !ready(); ++i)
            __builtin_ia32_pause();
        if (std::chrono::steady_clock::now() > limit) return ready();
    }
    return true;
}

/** Keeps the program's signals on the program's own threads: a thread made meanwhile gets none but for its own faults, which Linux would
 * otherwise end the program for, past the handlers that it has for them. */
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t blocked;
        sigfillset(&blocked);
        for (int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP})
            sigdelset(&blocked, fault);
        pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
    sigset_t before_;
};

/** A thread is bound to the CPUs that the one which made it is bound to, and workers serve all of the process' threads. */
void run_where_the_process_may() {
    cpu_set_t set;
    if (sched_getaffinity(getpid(), sizeof(set), &set) == 0) sched_setaffinity(0, sizeof(set), &set);
}

class Pool {
public:
    int run(Job &job, int32_t helpers) {
        add(job, helpers);
        job.work();
        finish(job);
        return job.result;
    }

    std::mutex mutex;

private:
    void add(Job &job, int32_t helpers) {
        std::unique_lock<std::mutex> lock(mutex);
        start_workers(helpers);
        const int32_t joining = std::min(helpers, workers_);
        if (joining == 0) return;
        job.wanted = joining;
        job.later = jobs_;
        jobs_ = &job;
        waiting_jobs_.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        for (int32_t i = 0; i < joining; ++i)
            wake_.notify_one();
    }

    void start_workers(int32_t wanted) {
        if (workers_ >= std::min(wanted, max_threads - 1)) return;
        SignalsBlocked blocked;
        try {
            for (; workers_ < std::min(wanted, max_threads - 1); ++workers_)
                std::thread([this] { serve(); }).detach();
        } catch (const std::exception &) {
            // The loop runs on the threads there are.
        }
    }

    void remove(Job &job) {
        for (Job **link = &jobs_; *link; link = &(*link)->later) {
            if (*link != &job) continue;
            *link = job.later;
            waiting_jobs_.fetch_sub(1, std::memory_order_relaxed);
            return;
        }
    }

    void finish(Job &job) {
        std::unique_lock<std::mutex> lock(mutex);
        remove(job);
        if (job.helpers == 0) return;
        lock.unlock();
        if (spin_until([&job] { return job.helpers.load(std::memory_order_acquire) == 0; })) return;
        lock.lock();
        done_.wait(lock, [&job] { return job.helpers == 0; });
    }

    Job *take_job() {
        Job *job = jobs_;
        if (!job) return nullptr;
        ++job->helpers;
        if (--job->wanted == 0) remove(*job);
        return job;
    }

    void serve() {
        run_where_the_process_may();
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            Job *job = take_job();
            if (job) {
                lock.unlock();
                job->work();
                lock.lock();
                // The caller may return, and its stack go, as soon as helpers is 0.
                if (job->helpers.fetch_sub(1, std::memory_order_release) == 1) done_.notify_all();
                continue;
            }
            lock.unlock();
            spin_until([this] { return waiting_jobs_.load(std::memory_order_relaxed) > 0; });
            lock.lock();
            wake_.wait(lock, [this] { return jobs_ != nullptr; });
        }
    }

    std::condition_variable wake_, done_;
    Job *jobs_ = nullptr; // those that workers may still join
    std::atomic<int32_t> waiting_jobs_{0};
    int32_t workers_ = 0;
};

// Never destroyed: workers may sleep on it while the process exits. In memory of its own, of which there is always enough.
alignas(Pool) char pool_memory[sizeof(Pool)];
std::atomic<Pool *> current_pool{nullptr};

// fork() copies only the calling thread: the child forgets the parent's workers. The lock keeps the fork out of the pool's inside.
void before_fork() { current_pool.load()->mutex.lock(); }
void after_fork_in_parent() { current_pool.load()->mutex.unlock(); }
void after_fork_in_child() { current_pool = new (pool_memory) Pool; }

/** Workers run this code for as long as the process lives: a shared library that has it stays, even past dlclose(). */
void keep_loaded() {
    Dl_info here;
    if (dladdr(reinterpret_cast<void *>(&keep_loaded), &here) != 0) dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

Pool &pool() {
    static std::once_flag once;
    std::call_once(once, [] {
        current_pool = new (pool_memory) Pool;
        keep_loaded();
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    });
    return *current_pool;
}

int run_inline(int32_t count, Task task, void *closure) {
    for (int32_t i = 0; i < count; ++i)
        if (const int code = task(closure, i)) return code;
    return 0;
}

} // namespace

int32_t available_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency())); // more CPUs than cpu_set_t holds
}

int parallel_for(int32_t threads, int32_t count, Task task, void *closure) {
    const int32_t used = std::min(threads, count);
    if (used <= 1 || inside_task()) return run_inline(count, task, closure);
    Job job(task, closure, count);
    return pool().run(job, used - 1);
}

bool inside_task() { return in_task; }

InsideTask::InsideTask() : before_(in_task) { in_task = true; }
InsideTask::~InsideTask() { in_task = before_; }

} // namespace attune::runtime
