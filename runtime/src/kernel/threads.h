// Attune's own threads: made when first needed, shared by all concurrent calls, asleep between them.
#pragma once

#include <cstdint>

namespace attune::runtime {

/** The most threads that one loop runs on. */
inline constexpr int32_t max_threads = 1024;

/** CPUs the calling thread may run on (its affinity mask), at least 1. */
int32_t available_cpus();

using Task = int (*)(void *closure, int32_t index);

/** Runs task(closure, i) for i in [0, count) on the calling thread and up to threads - 1 workers, and returns when all are done: 0, or the
 *  first non-zero value a task returned, after which tasks not yet begun are skipped. Fewer workers join while other calls hold them; the
 *  caller always makes progress itself. Inside a task it runs inline. A child made by fork() starts its own workers. */
int parallel_for(int32_t threads, int32_t count, Task task, void *closure);

/** True on a thread that is inside a task of parallel_for, or holds an InsideTask. */
bool inside_task();

/** Marks the calling thread as inside a task, for tasks that a caller's own pool runs. */
class InsideTask {
public:
    InsideTask();
    ~InsideTask();
    InsideTask(const InsideTask &) = delete;
    InsideTask &operator=(const InsideTask &) = delete;

private:
    bool before_;
};

} // namespace attune::runtime
