#include "runtime/src/kernel/kept_tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "attune/attune.h"
#include "runtime/src/kernel/internal.h"

namespace attune::runtime::kept_tables_test {
namespace {

/** A table whose bytes are the key's, again and again. */
void *make(KeptTables &tables, const std::string &key, size_t bytes) {
    auto *table = static_cast<char *>(tables.make_room(key.data(), key.size(), bytes));
    if (!table) return nullptr;
    for (size_t i = 0; i < bytes; ++i)
        table[i] = key[i % key.size()];
    tables.finish();
    return table;
}

void *found(KeptTables &tables, const std::string &key) { return tables.find(key.data(), key.size()); }

bool holds(const void *table, const std::string &key, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        if (static_cast<const char *>(table)[i] != key[i % key.size()]) return false;
    return true;
}

TEST(KeptTables, AreFoundByTheirWholeKey) {
    KeptTables tables;
    EXPECT_EQ(found(tables, "abc"), nullptr);
    void *abc = make(tables, "abc", 1000), *abd = make(tables, "abd", 500);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(abc) % 64, 0u);
    EXPECT_EQ(found(tables, "abc"), abc);
    EXPECT_EQ(found(tables, "abd"), abd);
    EXPECT_TRUE(holds(abc, "abc", 1000) && holds(abd, "abd", 500));
    for (const char *other : {"ab", "abcd", "xbc"})
        EXPECT_EQ(found(tables, other), nullptr) << other;
}

TEST(KeptTables, AreThereOnceTheyAreComplete) {
    KeptTables tables;
    make(tables, "old", 100);
    for (size_t i = 1; i < KeptTables::places; ++i)
        make(tables, "other " + std::to_string(i), 100);
    ASSERT_NE(tables.make_room("new", 3, 100), nullptr);
    EXPECT_EQ(found(tables, "new"), nullptr);
    EXPECT_EQ(found(tables, "old"), nullptr) << "its place is taken";
    tables.finish();
    EXPECT_NE(found(tables, "new"), nullptr);
}

TEST(KeptTables, MakeRoomInThePlaceOfTheLongestUnused) {
    KeptTables tables;
    const auto key = [](size_t i) { return "key " + std::to_string(i); };
    for (size_t i = 0; i < KeptTables::places; ++i)
        make(tables, key(i), 100);
    found(tables, key(0));
    make(tables, key(KeptTables::places), 100);
    EXPECT_EQ(found(tables, key(1)), nullptr);
    for (size_t i = 0; i <= KeptTables::places; ++i)
        EXPECT_TRUE(i == 1 || holds(found(tables, key(i)), key(i), 100)) << i;
}

TEST(KeptTables, TakeNoMemoryFromTheHeapInTheSteadyState) {
    KeptTables tables;
    const auto several = [&] {
        for (size_t i = 0; i <= KeptTables::places; ++i)
            make(tables, "key " + std::to_string(i), 3000 + 10 * i);
    };
    for (size_t i = 0; i < KeptTables::places; ++i)
        several(); // until each place has been the largest one's
    const int64_t count = attune_internal_allocation_count();
    several();
    EXPECT_EQ(attune_internal_allocation_count(), count);
}

TEST(KeptTables, HaveNoRoomForLargeOnes) {
    KeptTables tables;
    make(tables, "small", 100);
    EXPECT_NE(make(tables, "largest", KeptTables::max_bytes), nullptr);
    EXPECT_EQ(make(tables, "too large", KeptTables::max_bytes + 1), nullptr);
    const std::string key(KeptTables::max_bytes + 1, 'k');
    EXPECT_EQ(make(tables, key, 100), nullptr);
    EXPECT_NE(found(tables, "small"), nullptr);
}

TEST(KeptTables, AreGivenBackWhenNoCallUsesThem) {
    KeptTables tables;
    tables.begin_call(1);
    make(tables, "first", 100);
    tables.begin_call(2);
    make(tables, "second", 100);
    tables.drop_unused_since(2);
    EXPECT_EQ(found(tables, "first"), nullptr);
    EXPECT_NE(found(tables, "second"), nullptr);
}

} // namespace
} // namespace attune::runtime::kept_tables_test
