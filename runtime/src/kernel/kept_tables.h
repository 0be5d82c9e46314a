// Tables that are kept between calls: a model's layers turn queries and keys by the same one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/src/kernel/arena.h"

namespace attune::runtime {

/** A few tables, found by all that they are made from, as bytes. One call at a time. */
class KeptTables {
public:
    /** Of one table: there is no room for larger ones. */
    static constexpr size_t max_bytes = size_t{4} << 20;
    static constexpr size_t places = 16;
    /** Of those that one sequence's tokens have, part by part: of two sequences, by turns, all are found. */
    static constexpr size_t max_bytes_of_sequence = places / 2 * max_bytes;

    KeptTables() = default;
    ~KeptTables() { drop_unused_since(UINT64_MAX); }
    KeptTables(const KeptTables &) = delete;
    KeptTables &operator=(const KeptTables &) = delete;

    void begin_call(uint64_t call) noexcept { call_ = call; }

    /** The table with this key, or nullptr. */
    void *find(const void *key, size_t key_bytes) noexcept;
    /** Room for the table of a key, aligned and readable around as an Arena's blocks, in the place of that longest unused; nullptr where it
     * is too large, or memory runs out. It is found once finish() is called. A call's last two tables stay as they are. */
    void *make_room(const void *key, size_t key_bytes, size_t table_bytes) noexcept;
    /** The table that there was made room for last is complete. */
    void finish() noexcept { making_->complete = true; }

    /** Gives back the memory of tables that no call since `call` used. */
    void drop_unused_since(uint64_t call) noexcept;

private:
    struct Entry {
        char *memory = nullptr; // the table, then its key
        size_t capacity = 0, table_bytes = 0, key_bytes = 0;
        uint64_t last_call = 0, last_use = 0;
        bool complete = false;
    };
    void drop(Entry &entry) noexcept;

    Arena arena_;
    std::array<Entry, places> entries_;
    Entry *making_ = nullptr;
    uint64_t call_ = 0, uses_ = 0;
};

} // namespace attune::runtime
