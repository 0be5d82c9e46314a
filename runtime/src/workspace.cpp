#include "workspace.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <thread>

#include "attune/attune.h"
#include "cuda_scratch.h"

namespace attune::runtime {

namespace {

constexpr uint64_t idle_calls = 1024;               // a size unused for as many calls is given back
constexpr size_t max_spare_bytes = size_t{1} << 30; // kept for tasks that didn't run together; untouched, so only addresses

thread_local const TaskScope *current_task = nullptr;
thread_local size_t last_arena = 0; // that this thread took, of whatever workspace

} // namespace

Workspace::~Workspace() {
    for (size_t i = 0; i < arena_count_; ++i)
        delete arenas_[i].load();
}

void *Workspace::allocate(size_t bytes) noexcept {
    if (!current_task || current_task->workspace() != this) return own_.allocate(bytes);
    return current_task->arena() ? current_task->arena()->allocate(bytes) : nullptr;
}

Workspace::TaskArena *Workspace::add_arena() noexcept {
    const std::lock_guard<std::mutex> lock(adding_);
    const size_t count = arena_count_.load(std::memory_order_relaxed);
    if (count == arenas_.size()) return nullptr;
    auto *made = new (std::nothrow) TaskArena;
    if (!made) return nullptr;
    arenas_[count].store(made, std::memory_order_relaxed);
    arena_count_.store(count + 1, std::memory_order_release);
    return made;
}

Workspace::TaskArena *Workspace::take_idle_arena() noexcept {
    const size_t count = arena_count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
        const size_t at = (last_arena + i) % count;
        TaskArena *arena = arenas_[at].load(std::memory_order_relaxed);
        if (arena->taken.load(std::memory_order_relaxed) || arena->taken.exchange(true, std::memory_order_acquire)) continue;
        last_arena = at;
        return arena;
    }
    return nullptr;
}

Workspace::TaskArena *Workspace::take_arena() noexcept {
    TaskArena *found = take_idle_arena();
    if (!found) found = add_arena();
    // More tasks than any loop of ours has threads, by a caller's pool, wait for each other.
    while (!found && arena_count_.load(std::memory_order_relaxed) == arenas_.size()) {
        std::this_thread::yield();
        found = take_idle_arena();
    }
    if (found && found->arena.call() != call_) found->arena.begin_call(call_);
    return found;
}

void Workspace::begin_call() noexcept {
    own_.begin_call(++call_);
    has_run_tasks_ = false;
}

void Workspace::end_call() noexcept {
    if (call_ % (idle_calls / 4) != 0) return;
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

void Workspace::end_loop(int32_t threads) noexcept {
    has_run_tasks_ = true;
    bool has_grown = false;
    for (size_t i = 0; i < arena_count_.load(std::memory_order_acquire); ++i)
        has_grown = arenas_[i].load()->arena.has_grown() || has_grown;
    const auto wanted = static_cast<size_t>(threads);
    if (!has_grown && arena_count_ >= wanted) return;
    while (arena_count_ < wanted) {
        TaskArena *added = add_arena();
        if (!added) return;
        added->taken.store(false, std::memory_order_release);
    }
    const size_t count = arena_count_;
    for (size_t i = 0; i < block_classes; ++i) {
        size_t blocks = 0;
        for (size_t k = 0; k < count; ++k)
            blocks = std::max(blocks, arenas_[k].load()->arena.blocks(i));
        if (size_of_class(i) * blocks * count > max_spare_bytes) continue;
        for (size_t k = 0; k < count; ++k)
            if (!arenas_[k].load()->arena.grow_to(i, blocks)) return;
    }
    // What was made here is no task's.
    for (size_t k = 0; k < count; ++k)
        arenas_[k].load()->arena.has_grown();
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
    attune::runtime::pool().release_idle();
    attune::runtime::release_device_memory();
}
