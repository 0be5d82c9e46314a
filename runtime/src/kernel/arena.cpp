#include "runtime/src/kernel/arena.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/src/kernel/internal.h"

namespace attune::runtime {

namespace {

constexpr size_t alignment = 64; // of vector loads and stores

std::atomic<int64_t> allocation_count{0};

} // namespace

/** Stands in front of the memory it describes. */
struct alignas(alignment) Arena::Block {
    Arena *arena;
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

Arena::~Arena() {
    for (size_t i = 0; i < block_classes; ++i)
        drop(i);
}

Arena::Block *Arena::make_block(size_t index) noexcept {
    const size_t bytes = sizeof(Block) + size_of_class(index) + alignment;
    void *memory = std::aligned_alloc(alignment, bytes);
    if (!memory) { // what is kept for other sizes may be enough
        for (size_t i = 0; i < block_classes; ++i)
            drop(i);
        memory = std::aligned_alloc(alignment, bytes);
    }
    if (!memory) return nullptr;
    allocation_count.fetch_add(1, std::memory_order_relaxed);
    ++blocks_[index];
    grown_ = true;
    return new (memory) Block{this, nullptr, index, 0};
}

void Arena::keep(Block *block) noexcept {
    block->next = kept_[block->index];
    kept_[block->index] = block;
}

void Arena::drop(size_t index) noexcept {
    while (Block *block = kept_[index]) {
        kept_[index] = block->next;
        --blocks_[index];
        std::free(block);
    }
}

void *Arena::allocate(size_t bytes) noexcept {
    if (bytes > max_block_bytes) return nullptr;
    const size_t index = class_of_size(bytes);
    Block *block = kept_[index];
    if (block) {
        kept_[index] = block->next;
    } else if (!(block = make_block(index))) {
        return nullptr;
    }
    block->bytes = bytes;
    last_call_[index] = call_;
    held_ += bytes;
    peak_ = std::max(peak_, held_);
    return block + 1;
}

void Arena::release(void *memory) noexcept {
    if (!memory) return;
    Block *block = static_cast<Block *>(memory) - 1;
    block->arena->held_ -= block->bytes;
    block->arena->keep(block);
}

void Arena::begin_call(uint64_t call) noexcept {
    call_ = call;
    peak_ = held_;
}

bool Arena::has_grown() noexcept {
    if (!grown_) return false; // and leaves the line in the cache of the thread that writes it
    grown_ = false;
    return true;
}

bool Arena::grow_to(size_t index, size_t blocks) noexcept {
    while (blocks_[index] < blocks) {
        Block *block = make_block(index);
        if (!block) return false;
        keep(block);
    }
    return true;
}

} // namespace attune::runtime

extern "C" int64_t attune_internal_allocation_count(void) { return attune::runtime::allocation_count.load(std::memory_order_relaxed); }
