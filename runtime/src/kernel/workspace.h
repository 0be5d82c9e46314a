// Scratch memory of one call at a time, kept between calls so that in the steady state nothing is allocated.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "runtime/src/kernel/arena.h"
#include "runtime/src/kernel/kept_tables.h"
#include "runtime/src/kernel/threads.h"

namespace attune::runtime {

/** One arena for what a call allocates by itself, and one for each task of a parallel loop that runs at once, so that tasks, of which
 * some take 2 us, don't wait for each other: a lock for each block made two threads slower than one. One call at a time begins and ends. */
class Workspace {
public:
    Workspace() = default;
    ~Workspace();
    Workspace(const Workspace &) = delete;
    Workspace &operator=(const Workspace &) = delete;

    /** As Arena's: inside a TaskScope of this workspace by the task, elsewhere by the call, on one thread at a time. Either releases only
     * what it has allocated. */
    void *allocate(size_t bytes) noexcept;
    static void release(void *block) noexcept { Arena::release(block); }

    /** What is kept from call to call. It isn't scratch, and counts as none. */
    KeptTables &kept_tables() { return kept_tables_; }

    void begin_call() noexcept;
    /** Drops the blocks of sizes that no recent call used, and tables likewise. */
    void end_call() noexcept;
    /** The most bytes held at once since begin_call: by the call, and by each thread's tasks, as if all held their most together. */
    size_t peak_bytes() const noexcept;

    /** Begins a parallel loop on so many threads: its tasks have the first arenas, so that as many are used from call to call. */
    void begin_loop(int32_t threads) noexcept;
    /** Ends it: keeps blocks enough for as many of its tasks at once, however few ran together this time. */
    void end_loop() noexcept;

private:
    friend class TaskScope;
    friend class WorkspacePool;

    struct alignas(64) TaskArena {
        std::atomic<bool> taken{true};
        Arena arena;
    };

    /** The one the calling thread had last, if it is idle, for what is in its cache; nullptr where memory runs out. */
    TaskArena *take_arena() noexcept;
    TaskArena *take_idle_arena(size_t first, size_t end) noexcept;
    TaskArena *add_arena(bool taken) noexcept;

    Arena own_;
    KeptTables kept_tables_;
    std::array<std::atomic<TaskArena *>, max_threads> arenas_{};
    std::atomic<size_t> arena_count_{0};
    size_t threads_ = 1;     // of the loop
    size_t even_arenas_ = 0; // the first so many have as many blocks of each size as any
    std::mutex adding_;
    bool has_run_tasks_ = false; // in this call
    uint64_t call_ = 0;
    Workspace *next_ = nullptr;
};

/** A task of a parallel loop, which has an arena of its own while it lives. Those of one thread don't overlap. */
class TaskScope {
public:
    explicit TaskScope(Workspace &workspace);
    ~TaskScope();
    TaskScope(const TaskScope &) = delete;
    TaskScope &operator=(const TaskScope &) = delete;

    const Workspace *workspace() const { return &workspace_; }
    Arena *arena() const { return taken_ ? &taken_->arena : nullptr; }

private:
    Workspace &workspace_;
    Workspace::TaskArena *taken_;
    const TaskScope *before_;
};

/** An idle workspace, or a new one; throws std::bad_alloc. */
Workspace *acquire_workspace();
void return_workspace(Workspace *workspace) noexcept;

} // namespace attune::runtime
