// Scratch memory of one call at a time, kept between calls so that in the steady state nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace attune::runtime {

/** Blocks come in sizes of four steps a power of two, so at most a fifth of one is unused, and that never touched. */
inline constexpr size_t max_block_bytes = size_t{1} << 56;
inline constexpr size_t block_classes = 196; // up to max_block_bytes
size_t class_of_size(size_t bytes);
size_t size_of_class(size_t index);

/** How many blocks of each class one task holds, and held at most. Halide's tasks free what they allocate. */
struct TaskUse {
    std::array<uint8_t, block_classes> held{};
    std::array<uint8_t, block_classes> most{};
    bool any = false;
};

/** A set of cached blocks. Any thread may allocate and release; one call at a time begins and ends. */
class Workspace {
public:
    ~Workspace();

    /** 64-byte aligned, readable 64 bytes before and past its end; nullptr where memory runs out. Held until released. */
    void *allocate(size_t bytes) noexcept;
    void release(void *block) noexcept;

    void begin_call() noexcept;
    /** Drops the blocks of sizes that no recent call used. */
    void end_call() noexcept;
    /** The most bytes held at once since begin_call. */
    size_t peak_bytes() noexcept;

    /** Adds a task's use to what the tasks of the parallel loop that runs need. */
    void note_task(const TaskUse &use) noexcept;
    /** Ends a parallel loop: keeps blocks enough for `threads` of its tasks at once, however few ran together this time. */
    void end_loop(int32_t threads) noexcept;

private:
    struct Block;
    void keep(Block *block, size_t index) noexcept;
    void drop(size_t index) noexcept;
    static Block *make_block(size_t index) noexcept;

    std::mutex mutex_;
    std::array<Block *, block_classes> free_{};
    std::array<uint32_t, block_classes> free_count_{};
    std::array<uint64_t, block_classes> last_call_{};
    std::array<uint8_t, block_classes> task_needs_{};
    bool loop_allocates_ = false;
    uint64_t call_ = 0;
    size_t held_ = 0;
    size_t peak_ = 0;
    Workspace *next_ = nullptr;
    friend class WorkspacePool;
};

/** Notes what the calling thread allocates from any Workspace while it lives, for note_task. */
class TaskScope {
public:
    explicit TaskScope(Workspace &workspace);
    ~TaskScope();
    TaskScope(const TaskScope &) = delete;
    TaskScope &operator=(const TaskScope &) = delete;

private:
    Workspace &workspace_;
    TaskUse use_;
    TaskUse *before_;
};

/** An idle workspace, or a new one; throws std::bad_alloc. */
Workspace *acquire_workspace();
void return_workspace(Workspace *workspace) noexcept;

} // namespace attune::runtime
