// How attention's queries are cut into tasks: enough for all threads, and no more than that takes.
#include "runtime/src/attention/tasks.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::runtime::attention_tasks_test {
namespace {

/** Rows of the thread that ends last, by shares of all keys, where each in turn takes the next task; causal or not. */
double longest(const AttentionWork &work, int32_t threads, int64_t rows_per_tile) {
    const int32_t most = attention_rows_per_task(work, threads, rows_per_tile);
    const int64_t rows = attention_tiles_per_task(most, rows_per_tile) * rows_per_tile;
    std::vector<double> busy(static_cast<size_t>(threads));
    for (int64_t head = 0; head < work.heads; ++head)
        for (int64_t row = 0; row < work.queries; row += rows) {
            const auto begin = static_cast<double>(row), end = static_cast<double>(std::min(row + rows, work.queries));
            const double keys = work.rows_alike ? 1 : (begin + end) / 2 / static_cast<double>(work.queries);
            *std::min_element(busy.begin(), busy.end()) += (end - begin) * keys;
        }
    return *std::max_element(busy.begin(), busy.end());
}

double share(const AttentionWork &work, int32_t threads) {
    const auto rows = static_cast<double>(work.heads * work.queries);
    return (work.rows_alike ? rows : rows / 2) / threads;
}

TEST(AttentionTasks, HavePowersOfTwo) {
    for (const int64_t heads : {1, 3, 12, 4096})
        for (const int64_t queries : {1, 31, 100, 1024, 100000})
            for (const int64_t keys : {1, 64, 100000})
                for (const int32_t threads : {1, 2, 7, 64, 1024})
                    for (const bool alike : {false, true}) {
                        const int32_t rows = attention_rows_per_task({heads, queries, keys, 128, alike}, threads, 32);
                        EXPECT_TRUE(rows >= 8 && rows <= 1024 && (rows & (rows - 1)) == 0) << rows;
                    }
}

TEST(AttentionTasks, AreWholeWhereHeadsAreEnough) {
    EXPECT_EQ(attention_rows_per_task({8, 1024, 1024, 128, true}, 1, 32), 1024);
    EXPECT_EQ(attention_rows_per_task({1, 4096, 4096, 128, false}, 1, 32), 1024);
    EXPECT_EQ(attention_rows_per_task({8, 1024, 1024, 128, true}, 2, 32), 1024);
    EXPECT_EQ(attention_rows_per_task({8, 1024, 1024, 128, false}, 4, 32), 1024); // of whole heads one is like another
}

TEST(AttentionTasks, AreAsManyTilesAsRowsHold) {
    EXPECT_EQ(attention_tiles_per_task(1024, 32), 32);
    EXPECT_EQ(attention_tiles_per_task(1024, 8), 32);
    EXPECT_EQ(attention_tiles_per_task(512, 24), 16);
    EXPECT_EQ(attention_tiles_per_task(32, 24), 1);
}

TEST(AttentionTasks, OfShortHeadsAreTakenTogether) {
    EXPECT_EQ(attention_heads_at_a_time(1024, 1, 32, 16), 8);
    EXPECT_EQ(attention_heads_at_a_time(1024, 8, 32, 16), 4);
    EXPECT_EQ(attention_heads_at_a_time(128, 2, 24, 16), 2);
    EXPECT_EQ(attention_heads_at_a_time(32, 1, 32, 16), 1);
    EXPECT_EQ(attention_heads_at_a_time(32, 5, 32, 16), 1);
    EXPECT_EQ(attention_heads_at_a_time(1024, 4, 32, 128), 8);
    EXPECT_EQ(attention_heads_at_a_time(1024, 1, 32, 2048), 2); // that others need not wait long for the thread
    EXPECT_EQ(attention_heads_at_a_time(1024, 1, 32, 1000000), 1);
}

TEST(AttentionTasks, OfShortHeadsGiveEveryThreadAsMuch) {
    constexpr int64_t keys = 128, channels = 1 << 20; // so that waking a thread costs nothing beside them
    for (const int64_t heads : {1, 3, 8, 12, 17, 96, 768})
        for (const int64_t queries : {1, 16, 49, 77, 128, 200})
            for (const int32_t threads : {2, 3, 4, 8, 16})
                for (const int64_t rows_per_tile : {8, 16, 24, 32}) {
                    const AttentionWork work = {heads, queries, keys, channels, true};
                    const int32_t rows = attention_rows_per_task(work, threads, rows_per_tile);
                    const int64_t tiles = divided_up(queries, rows_per_tile);
                    const int64_t together = std::min(heads, attention_heads_at_a_time(rows, tiles, rows_per_tile, keys));
                    if (tiles > attention_tiles_per_task(rows, rows_per_tile)) continue; // heads are cut: below
                    EXPECT_LE(divided_up(divided_up(heads, together), threads) * together, divided_up(heads, threads) + 1)
                        << heads << " heads of " << queries << " on " << threads << ", tiles of " << rows_per_tile;
                }
}

TEST(AttentionTasks, GiveEveryThreadAsMuch) {
    for (const int64_t heads : {1, 3, 5, 12, 32})
        for (const int64_t queries : {1024, 2048, 4096, 8192})
            for (const int32_t threads : {2, 3, 4, 8, 16})
                for (const int64_t rows_per_tile : {8, 16, 24, 32})
                    for (const bool alike : {false, true}) {
                        const AttentionWork work = {heads, queries, queries, 128, alike};
                        EXPECT_LE(longest(work, threads, rows_per_tile), 1.2 * share(work, threads) + 32)
                            << heads << " heads of " << queries << " on " << threads << (alike ? "" : ", causal") << ", tiles of "
                            << rows_per_tile;
                    }
}

TEST(AttentionTasks, AreNotCutWhereAnotherThreadWouldWakeTooLate) {
    EXPECT_EQ(attention_rows_per_task({1, 64, 16, 128, true}, 2, 32), 1024);
    EXPECT_EQ(attention_rows_per_task({1, 64, 4096, 128, true}, 2, 32), 32);
}

} // namespace
} // namespace attune::runtime::attention_tasks_test
