// The runtime shares queries among threads by the tiles that the schedule has: by a class of CPUs and a head size, without its files.
#include "runtime/src/attention_tasks.h"
#include "schedules/machine.h"

#include <gtest/gtest.h>

namespace attune::test {
namespace {

using runtime::CpuClass;

TEST(TaskTiles, AreThoseOfTheSchedule) {
    const struct {
        CpuClass cpu;
        const char *machine;
    } classes[] = {{CpuClass::x86_64, "x86-64"},
                   {CpuClass::avx2, "x86-64-avx2"},
                   {CpuClass::avx512, "x86-64-avx512"},
                   {CpuClass::avx512_amx, "x86-64-avx512_amx"},
                   {CpuClass::avx512_bf16, "x86-64-avx512_bf16"},
                   {CpuClass::avx512_zen5, "x86-64-avx512_zen5"}};
    for (const auto &[cpu, name] : classes)
        for (const int head_dim : {0, 64, 128}) {
            schedules::Machine machine = {};
            machine.name = name;
            const schedules::Tiles tiles = schedules::tuned_tiles(machine, "flash", head_dim);
            EXPECT_EQ(runtime::attention_rows_per_tile(cpu, head_dim), tiles.rows_per_tile) << name << ", " << head_dim;
            EXPECT_EQ(runtime::most_tiles_of_attention_task, tiles.tiles_per_task) << name << ", " << head_dim;
        }
}

} // namespace
} // namespace attune::test
