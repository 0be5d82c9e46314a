#include "workspace.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "attune/attune.h"
#include "cuda_scratch.h"
#include "internal.h"

namespace attune::runtime {

namespace {

constexpr size_t alignment = 64;                    // of vector loads and stores
constexpr uint64_t idle_calls = 1024;               // a size unused for as many calls is given back
constexpr size_t max_spare_bytes = size_t{1} << 30; // kept for tasks that didn't run together; untouched, so only addresses

std::atomic<int64_t> allocation_count{0};
thread_local TaskUse *current_use = nullptr;

void note_allocate(size_t index) {
    if (!current_use || current_use->held[index] == UINT8_MAX) return;
    current_use->any = true;
    current_use->most[index] = std::max(current_use->most[index], ++current_use->held[index]);
}

void note_release(size_t index) {
    if (current_use && current_use->held[index] > 0) --current_use->held[index];
}

} // namespace

/** Stands in front of the memory it describes. */
struct alignas(alignment) Workspace::Block {
    Block *next;
    size_t index;
    size_t bytes; // asked for
};

size_t class_of_size(size_t bytes) {
    const size_t units = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment;
    if (units <= 4) return units - 1;
    const auto power = static_cast<size_t>(63 - __builtin_clzl(units - 1)); // 2^power < units <= 2^(power + 1)
    return 4 * (power - 1) + ((units - 1) >> (power - 2)) - 4;
}

size_t size_of_class(size_t index) {
    if (index < 4) return (index + 1) * alignment;
    const size_t power = index / 4 + 1;
    return ((index % 4 + 5) << (power - 2)) * alignment;
}

Workspace::~Workspace() {
    for (size_t i = 0; i < block_classes; ++i)
        drop(i);
}

Workspace::Block *Workspace::make_block(size_t index) noexcept {
    void *memory = std::aligned_alloc(alignment, sizeof(Block) + size_of_class(index) + alignment);
    if (!memory) return nullptr;
    allocation_count.fetch_add(1, std::memory_order_relaxed);
    return new (memory) Block{nullptr, index, 0};
}

void Workspace::keep(Block *block, size_t index) noexcept {
    block->next = free_[index];
    free_[index] = block;
    ++free_count_[index];
}

void Workspace::drop(size_t index) noexcept {
    while (Block *block = free_[index]) {
        free_[index] = block->next;
        std::free(block);
    }
    free_count_[index] = 0;
}

void *Workspace::allocate(size_t bytes) noexcept {
    if (bytes > max_block_bytes) return nullptr;
    const size_t index = class_of_size(bytes);
    std::unique_lock<std::mutex> lock(mutex_);
    Block *block = free_[index];
    if (block) {
        free_[index] = block->next;
        --free_count_[index];
    } else if (!(block = make_block(index))) {
        return nullptr;
    }
    block->bytes = bytes;
    last_call_[index] = call_;
    held_ += bytes;
    peak_ = std::max(peak_, held_);
    lock.unlock();
    note_allocate(index);
    return block + 1;
}

void Workspace::release(void *memory) noexcept {
    if (!memory) return;
    Block *block = static_cast<Block *>(memory) - 1;
    note_release(block->index);
    std::lock_guard<std::mutex> lock(mutex_);
    held_ -= block->bytes;
    keep(block, block->index);
}

void Workspace::begin_call() noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    ++call_;
    peak_ = held_;
}

void Workspace::end_call() noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (call_ % (idle_calls / 4) != 0) return;
    for (size_t i = 0; i < block_classes; ++i)
        if (free_[i] && last_call_[i] + idle_calls < call_) drop(i);
}

size_t Workspace::peak_bytes() noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    return peak_;
}

void Workspace::note_task(const TaskUse &use) noexcept {
    if (!use.any) return;
    std::lock_guard<std::mutex> lock(mutex_);
    loop_allocates_ = true;
    for (size_t i = 0; i < block_classes; ++i)
        task_needs_[i] = std::max(task_needs_[i], use.most[i]);
}

void Workspace::end_loop(int32_t threads) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!loop_allocates_) return;
    loop_allocates_ = false;
    for (size_t i = 0; i < block_classes; ++i) {
        const size_t wanted = task_needs_[i] * static_cast<size_t>(threads);
        task_needs_[i] = 0;
        while (free_count_[i] < wanted && size_of_class(i) * wanted <= max_spare_bytes) {
            Block *block = make_block(i);
            if (!block) return;
            keep(block, i);
        }
    }
}

TaskScope::TaskScope(Workspace &workspace) : workspace_(workspace), before_(current_use) { current_use = &use_; }

TaskScope::~TaskScope() {
    current_use = before_;
    workspace_.note_task(use_);
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

extern "C" int64_t attune_internal_allocation_count(void) { return attune::runtime::allocation_count.load(std::memory_order_relaxed); }

extern "C" void attune_release_memory(void) {
    attune::runtime::pool().release_idle();
    attune::runtime::release_device_memory();
}
