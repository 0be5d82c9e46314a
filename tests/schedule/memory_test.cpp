// What flash allocates: nothing in its loops over blocks of keys and over tiles, only once a task, or once for the tasks that a thread
// takes at a time.
#include <atomic>
#include <cstdlib>

#include "flash.h"

namespace attune::test::memory_test {
namespace {

constexpr int head_dim = 48; // several vectors, and steps of channels

std::atomic<int64_t> calls, bytes;

void *counting_malloc(Halide::JITUserContext *, size_t size) {
    calls++, bytes += int64_t(size);
    return std::aligned_alloc(128, (size + 127) / 128 * 128 + 128);
}

void plain_free(Halide::JITUserContext *, void *memory) { std::free(memory); }

struct Allocated {
    int64_t calls, bytes;
};

class Memory : public SeededTestWithParam<int> {
protected:
    explicit Memory(int rows_at_a_time = 0) : flash(GetParam(), std::nullopt, false, runnable_targets().front(), rows_at_a_time) {
        flash.jit.pipeline.jit_handlers().custom_malloc = counting_malloc;
        flash.jit.pipeline.jit_handlers().custom_free = plain_free;
        flash.compile();
    }

    Allocated allocated_by(int64_t queries, int64_t keys, const std::string &mask = "none", int64_t heads = 1) {
        AttentionProblem p = normal_problem({1, heads, 1, queries, keys, head_dim, head_dim}, random);
        p.mask = mask;
        p.offset = keys - queries;
        calls = bytes = 0;
        flash.jit.run(p);
        return {calls, bytes};
    }

    Flash flash;
};

std::string name(const ::testing::TestParamInfo<int> &info) { return info.param == 0 ? "any" : "d" + std::to_string(info.param); }
INSTANTIATE_TEST_SUITE_P(HeadDims, Memory, ::testing::Values(0, head_dim), name);

TEST_P(Memory, IsAllocatedOnceATask) {
    const Allocated few = allocated_by(33, 50);
    EXPECT_GT(few.calls, 0);
    for (int64_t keys : {51, 192, 193, 1000, 20000}) {
        const Allocated many = allocated_by(33, keys);
        EXPECT_EQ(many.calls, few.calls) << keys << " keys";
        EXPECT_EQ(many.bytes, few.bytes) << keys << " keys";
        EXPECT_EQ(allocated_by(33, keys, "causal").calls, few.calls) << keys << " keys";
    }

    const int64_t task = int64_t(flash.blocking.rows_per_tile) * flash.blocking.tiles_per_task;
    const int64_t half = allocated_by(task / 2, 300).calls, one = allocated_by(task, 300).calls;
    const int64_t two = allocated_by(2 * task, 300).calls, three = allocated_by(3 * task, 300).calls;
    EXPECT_EQ(half, one);
    EXPECT_EQ(three - two, two - one);
    EXPECT_LE(two - one, 32) << "buffers a task";
}

constexpr int rows_at_a_time = 128;

class MemoryOfHeads : public Memory {
protected:
    MemoryOfHeads() : Memory(rows_at_a_time) {}
};
INSTANTIATE_TEST_SUITE_P(HeadDims, MemoryOfHeads, ::testing::Values(0, head_dim), name);

TEST_P(MemoryOfHeads, IsAllocatedOnceForThoseThatAreTakenAtATime) {
    if (flash.machine.float_lanes < 8) GTEST_SKIP() << "without AVX a thread takes one head at a time";
    const int64_t rows = flash.blocking.rows_per_tile, most = dsl::Blocking::most_heads_at_a_time;
    for (const int64_t queries : {int64_t(1), rows, 2 * rows}) {
        const int64_t heads = std::min(rows_at_a_time / ((queries + rows - 1) / rows * rows), most);
        ASSERT_GT(heads, 1);
        const int64_t one = allocated_by(queries, 50).calls;
        EXPECT_GT(one, 0);
        EXPECT_EQ(allocated_by(queries, 50, "none", heads).calls, one) << queries;
        EXPECT_EQ(allocated_by(queries, 50, "none", heads + 1).calls, 2 * one) << queries;
        EXPECT_EQ(allocated_by(queries, 50, "causal", 3 * heads).calls, 3 * one) << queries;
    }
}

} // namespace
} // namespace attune::test::memory_test
