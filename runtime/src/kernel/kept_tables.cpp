#include "runtime/src/kernel/kept_tables.h"

#include <algorithm>
#include <cstring>

namespace attune::runtime {

void *KeptTables::find(const void *key, size_t key_bytes) noexcept {
    for (Entry &entry : entries_) {
        if (!entry.complete || entry.key_bytes != key_bytes) continue;
        if (std::memcmp(entry.memory + entry.table_bytes, key, key_bytes) != 0) continue;
        entry.last_call = call_, entry.last_use = ++uses_;
        return entry.memory;
    }
    return nullptr;
}

void *KeptTables::make_room(const void *key, size_t key_bytes, size_t table_bytes) noexcept {
    if (table_bytes > max_bytes || key_bytes > max_bytes) return nullptr;
    Entry &entry =
        *std::min_element(entries_.begin(), entries_.end(), [](const Entry &a, const Entry &b) { return a.last_use < b.last_use; });
    entry.complete = false;
    const size_t bytes = table_bytes + key_bytes;
    if (entry.capacity < bytes) {
        drop(entry);
        entry.memory = static_cast<char *>(arena_.allocate(bytes));
        if (!entry.memory) return nullptr;
        entry.capacity = size_of_class(class_of_size(bytes));
    }
    std::memcpy(entry.memory + table_bytes, key, key_bytes);
    entry.table_bytes = table_bytes, entry.key_bytes = key_bytes;
    entry.last_call = call_, entry.last_use = ++uses_;
    making_ = &entry;
    return entry.memory;
}

void KeptTables::drop_unused_since(uint64_t call) noexcept {
    for (Entry &entry : entries_)
        if (entry.last_call < call) drop(entry);
}

void KeptTables::drop(Entry &entry) noexcept {
    Arena::release(entry.memory);
    if (entry.memory) arena_.drop(class_of_size(entry.capacity));
    entry = {};
}

} // namespace attune::runtime
