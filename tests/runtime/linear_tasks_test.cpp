// How a linear layer's work is cut: enough for all threads, and the same for each.
#include "runtime/src/layer/linear_tasks.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::runtime::linear_tasks_test {
namespace {

int64_t parts(int64_t count, int64_t per_part) { return (count + per_part - 1) / per_part; }

// Rows times columns of the thread that has most to do, where each in turn takes the next task.
int64_t most_work(int64_t rows, int64_t columns, int32_t threads) {
    const LinearTask task = linear_task(rows, columns, threads);
    std::vector<int64_t> work(static_cast<size_t>(threads));
    for (int64_t row = 0; row < rows; row += task.rows)
        for (int64_t column = 0; column < columns; column += task.columns)
            *std::min_element(work.begin(), work.end()) +=
                std::min<int64_t>(task.rows, rows - row) * std::min<int64_t>(task.columns, columns - column);
    return *std::max_element(work.begin(), work.end());
}

TEST(LinearTasks, KeepToTheCaches) {
    for (const int64_t rows : {1, 9, 77, 512, 4096, 100000})
        for (const int64_t columns : {1, 32, 768, 4096, 50257})
            for (const int32_t threads : {1, 2, 7, 64, 1024}) {
                const LinearTask task = linear_task(rows, columns, threads);
                EXPECT_TRUE(task.rows >= 24 && task.rows <= 144 && task.rows % 12 == 0) << task.rows;
                EXPECT_TRUE(task.columns >= 128 && task.columns <= 4096 && task.columns % 32 == 0) << task.columns;
            }
}

TEST(LinearTasks, OneThreadCopiesRowsOnce) {
    EXPECT_GE(linear_task(1024, 1024, 1).columns, 1024);
    EXPECT_EQ(linear_task(1024, 1024, 1).rows, 132); // eight tasks, none of them small
}

// But for the last task's rows, which are whole tiles: of 512 rows on 3 threads 12 % too many.
TEST(LinearTasks, GiveEveryThreadAsMuch) {
    for (const int64_t size : {512, 768, 1024, 2048, 4096})
        for (const int32_t threads : {2, 3, 4, 6, 8})
            EXPECT_LE(double(most_work(size, size, threads)), 1.15 * double(size * size) / threads) << size << " on " << threads;
}

TEST(LinearTasks, CutColumnsWhereRowsAreFew) {
    const LinearTask task = linear_task(48, 4096, 16);
    EXPECT_EQ(parts(48, task.rows) * parts(4096, task.columns), 16);
}

} // namespace
} // namespace attune::runtime::linear_tasks_test
