// Cached blocks of scratch memory for one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace attune::runtime {

/** Blocks come in sizes of four steps a power of two, so at most a fifth of one is unused, and that never touched. */
inline constexpr size_t max_block_bytes = size_t{1} << 56;
inline constexpr size_t block_classes = 196; // up to max_block_bytes
size_t class_of_size(size_t bytes);
size_t size_of_class(size_t index);

/** Blocks that are kept when they are released, by size. Nothing is locked: what goes on at once has arenas of its own. */
class Arena {
public:
    Arena() = default;
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    /** 64-byte aligned, readable 64 bytes before and past its end; nullptr where memory runs out. Held until released. */
    void *allocate(size_t bytes) noexcept;
    /** A block of any arena, to the one it is from; nothing for nullptr. */
    static void release(void *block) noexcept;

    /** Says which call allocates from now on: calls are numbered in order. */
    void begin_call(uint64_t call) noexcept;
    /** The last call that began here, and the most bytes that it held at once. */
    uint64_t call() const { return call_; }
    size_t peak_bytes() const { return peak_; }

    /** Whether blocks were made since the last time this was asked. */
    bool has_grown() noexcept;
    /** How many blocks there are of a size, held or kept; and makes them so many. False where memory runs out. */
    size_t blocks(size_t index) const { return blocks_[index]; }
    bool grow_to(size_t index, size_t blocks) noexcept;
    /** The last call that asked for a block of a size; and gives back those that are kept. */
    uint64_t last_call(size_t index) const { return last_call_[index]; }
    void drop(size_t index) noexcept;

private:
    struct Block;
    Block *make_block(size_t index) noexcept;
    void keep(Block *block) noexcept;

    uint64_t call_ = 0;
    size_t held_ = 0, peak_ = 0;
    bool grown_ = false;
    std::array<Block *, block_classes> kept_{};
    std::array<size_t, block_classes> blocks_{};
    std::array<uint64_t, block_classes> last_call_{};
};

} // namespace attune::runtime
