#include "runtime/src/kernel/workspace.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <thread>

#include "attune/attune.h"
#include "runtime/src/cuda/scratch.h"

namespace attune::runtime {

namespace {

constexpr uint64_t idle_calls = 1024;               // a size unused for as many calls is given back
constexpr size_t max_spare_bytes = size_t{1} << 30; // kept for tasks that didn't run together; untouched, so only addresses

thread_local const TaskScope *current_task = nullptr;
thread_local size_t last_arena = 0; // that this thread took, of whatever workspace

void release_idle_workspaces();

} // namespace

Workspace::~Workspace() {
    for (size_t i = 0; i < arena_count_; ++i)
        delete arenas_[i].load();
}

void *Workspace::allocate(size_t bytes) noexcept {
    Arena *arena = &own_;
    if (current_task && current_task->workspace() == this) arena = current_task->arena();
    if (!arena) return nullptr;
    if (void *block = arena->allocate(bytes)) return block;
    release_idle_workspaces(); // what is kept for later calls
    return arena->allocate(bytes);
}

Workspace::TaskArena *Workspace::add_arena(bool taken) noexcept {
    const std::lock_guard<std::mutex> lock(adding_);
    const size_t count = arena_count_.load(std::memory_order_relaxed);
    if (count == arenas_.size()) return nullptr;
    auto *made = new (std::nothrow) TaskArena;
    if (!made) return nullptr;
    made->taken.store(taken, std::memory_order_relaxed);
    if (taken) last_arena = count;
    arenas_[count].store(made, std::memory_order_relaxed);
    arena_count_.store(count + 1, std::memory_order_release);
    return made;
}

Workspace::TaskArena *Workspace::take_idle_arena(size_t first, size_t end) noexcept {
    for (size_t i = first; i < end; ++i) {
        const size_t at = first + (last_arena + i) % (end - first);
        TaskArena *arena = arenas_[at].load(std::memory_order_relaxed);
        if (arena->taken.load(std::memory_order_relaxed) || arena->taken.exchange(true, std::memory_order_acquire)) continue;
        last_arena = at;
        return arena;
    }
    return nullptr;
}

Workspace::TaskArena *Workspace::take_arena() noexcept {
    TaskArena *found = nullptr;
    while (!found) {
        const size_t count = arena_count_.load(std::memory_order_acquire), of_loop = std::min(count, threads_);
        found = take_idle_arena(0, of_loop);
        if (!found) found = take_idle_arena(of_loop, count); // a caller's pool may have more threads than it said
        if (!found && count < arenas_.size()) {
            found = add_arena(true);
            if (!found) return nullptr;
        }
        if (!found) std::this_thread::yield(); // more tasks than any loop of ours has threads wait for each other
    }
    if (found->arena.call() != call_) found->arena.begin_call(call_);
    return found;
}

void Workspace::begin_call() noexcept {
    own_.begin_call(++call_);
    kept_tables_.begin_call(call_);
    has_run_tasks_ = false;
}

void Workspace::end_call() noexcept {
    if (call_ % (idle_calls / 4) != 0) return;
    if (call_ > idle_calls) kept_tables_.drop_unused_since(call_ - idle_calls);
    const size_t count = arena_count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < block_classes; ++i) {
        uint64_t last_call = own_.last_call(i);
        for (size_t k = 0; k < count; ++k)
            last_call = std::max(last_call, arenas_[k].load()->arena.last_call(i));
        if (last_call + idle_calls >= call_) continue;
        own_.drop(i);
        for (size_t k = 0; k < count; ++k)
            arenas_[k].load()->arena.drop(i);
    }
}

size_t Workspace::peak_bytes() const noexcept {
    size_t bytes = own_.peak_bytes();
    if (!has_run_tasks_) return bytes;
    for (size_t i = 0; i < arena_count_.load(std::memory_order_acquire); ++i) {
        const Arena &arena = arenas_[i].load()->arena;
        if (arena.call() == call_) bytes += arena.peak_bytes();
    }
    return bytes;
}

void Workspace::begin_loop(int32_t threads) noexcept {
    threads_ = static_cast<size_t>(threads);
    has_run_tasks_ = true;
}

void Workspace::end_loop() noexcept {
    bool has_grown = false;
    for (size_t i = 0; i < arena_count_.load(std::memory_order_acquire); ++i)
        has_grown = arenas_[i].load()->arena.has_grown() || has_grown;
    if (!has_grown && even_arenas_ >= threads_) return;
    even_arenas_ = 0;
    while (arena_count_ < threads_)
        if (!add_arena(false)) return;
    for (size_t i = 0; i < block_classes; ++i) {
        size_t blocks = 0;
        for (size_t k = 0; k < arena_count_; ++k)
            blocks = std::max(blocks, arenas_[k].load()->arena.blocks(i));
        if (size_of_class(i) * blocks * threads_ > max_spare_bytes) continue;
        for (size_t k = 0; k < threads_; ++k)
            if (!arenas_[k].load()->arena.grow_to(i, blocks)) return;
    }
    // What was made here is no task's.
    for (size_t k = 0; k < threads_; ++k)
        arenas_[k].load()->arena.has_grown();
    even_arenas_ = threads_;
}

TaskScope::TaskScope(Workspace &workspace) : workspace_(workspace), taken_(workspace.take_arena()), before_(current_task) {
    current_task = this;
}

TaskScope::~TaskScope() {
    current_task = before_;
    if (taken_) taken_->taken.store(false, std::memory_order_release);
}

/** Idle workspaces, the last used on top. */
class WorkspacePool {
public:
    Workspace *acquire() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            if (Workspace *found = idle_) {
                idle_ = found->next_;
                return found;
            }
        }
        return new Workspace;
    }

    void put_back(Workspace *workspace) {
        std::lock_guard<std::mutex> lock(mutex);
        workspace->next_ = idle_;
        idle_ = workspace;
    }

    void release_idle() {
        std::lock_guard<std::mutex> lock(mutex);
        while (Workspace *workspace = idle_) {
            idle_ = workspace->next_;
            delete workspace;
        }
    }

    std::mutex mutex;

private:
    Workspace *idle_ = nullptr;
};

namespace {

// Never destroyed: calls may run while the process exits.
WorkspacePool &pool() {
    static WorkspacePool *made = [] {
        auto *idle = new WorkspacePool;
        static WorkspacePool *forked = idle;
        pthread_atfork([] { forked->mutex.lock(); }, [] { forked->mutex.unlock(); }, [] { forked->mutex.unlock(); });
        return idle;
    }();
    return *made;
}

void release_idle_workspaces() { pool().release_idle(); }

} // namespace

Workspace *acquire_workspace() {
    Workspace *workspace = pool().acquire();
    workspace->begin_call();
    return workspace;
}

void return_workspace(Workspace *workspace) noexcept {
    workspace->end_call();
    pool().put_back(workspace);
}

} // namespace attune::runtime

extern "C" void attune_release_memory(void) {
    try {
        attune::runtime::release_idle_workspaces();
        attune::runtime::release_device_memory();
    } catch (...) { // no memory for the list of what is idle: then nothing is
    }
}
