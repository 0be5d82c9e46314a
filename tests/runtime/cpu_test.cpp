#include "runtime/src/kernel/cpu.h"

#include <attune/attune.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace attune::runtime::cpu_test {
namespace {

TEST(Cpu, IsOnlyEverLowered) {
    CpuClass lowered = CpuClass::x86_64;
    ASSERT_TRUE(lower_class("avx2", CpuClass::avx512, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx2);
    ASSERT_TRUE(lower_class("avx512", CpuClass::avx2, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx2);
    ASSERT_TRUE(lower_class("x86-64", CpuClass::avx512, false, lowered));
    EXPECT_EQ(lowered, CpuClass::x86_64);
    ASSERT_TRUE(lower_class("avx512_bf16", CpuClass::avx512_bf16, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx512_bf16);
    ASSERT_TRUE(lower_class("avx512_bf16", CpuClass::avx512, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx512);
    ASSERT_TRUE(lower_class("avx512_bf16", CpuClass::avx512_zen5, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx512_bf16);
    ASSERT_TRUE(lower_class("avx512_zen5", CpuClass::avx512_bf16, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx512_bf16);
    ASSERT_TRUE(lower_class("avx512_amx", CpuClass::avx512_bf16, true, lowered));
    EXPECT_EQ(lowered, CpuClass::avx512_amx);
    ASSERT_TRUE(lower_class("avx512_amx", CpuClass::avx512_zen5, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx512);
    ASSERT_TRUE(lower_class("avx512_amx", CpuClass::avx2, false, lowered));
    EXPECT_EQ(lowered, CpuClass::avx2);
    EXPECT_FALSE(lower_class("AVX2", CpuClass::avx512, false, lowered));
    EXPECT_FALSE(lower_class("", CpuClass::avx512, false, lowered));
}

/** On Intel's the class with bf16 is there, and slower. */
TEST(Cpu, PrefersPairsOfBfloat16OnlyWhereTheyAreFaster) {
    EXPECT_EQ(fastest_class(CpuClass::avx512_bf16, false, true), CpuClass::avx512_bf16);
    EXPECT_EQ(fastest_class(CpuClass::avx512_bf16, false, false), CpuClass::avx512);
    EXPECT_EQ(fastest_class(CpuClass::avx512_bf16, true, false), CpuClass::avx512_amx);
    EXPECT_EQ(fastest_class(CpuClass::avx512_zen5, false, true), CpuClass::avx512_zen5);
    for (CpuClass lower : {CpuClass::x86_64, CpuClass::avx2, CpuClass::avx512})
        for (bool amd : {false, true})
            EXPECT_EQ(fastest_class(lower, false, amd), lower);
}

TEST(Cpu, RunsAKernelThatHasATargetOfItsClass) {
    const char *all = "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake,x86-64-linux-sse41-avx-f16c-fma-avx2,x86-64-linux";
    EXPECT_TRUE(runs_on(all, CpuClass::x86_64));
    EXPECT_TRUE(runs_on("x86-64-linux-user_context-large_buffers-no_runtime", CpuClass::x86_64));
    EXPECT_FALSE(runs_on("x86-64-linux-sse41-avx-f16c-fma-avx2", CpuClass::x86_64));
    EXPECT_TRUE(runs_on("x86-64-linux-sse41-avx-f16c-fma-avx2", CpuClass::avx2));
    EXPECT_FALSE(runs_on("x86-64-linux-avx2-avx512-avx512_skylake", CpuClass::avx2));
    EXPECT_TRUE(runs_on("x86-64-linux-avx2-avx512-avx512_skylake", CpuClass::avx512));
    const char *bf16 = "x86-64-linux-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4";
    EXPECT_FALSE(runs_on(bf16, CpuClass::avx512));
    EXPECT_FALSE(runs_on(bf16, CpuClass::avx512_amx));
    EXPECT_EQ(runs_on(bf16, CpuClass::avx512_bf16), bool(__builtin_cpu_supports("avx512bf16")));
    EXPECT_FALSE(runs_on((std::string(bf16) + "-avx512_zen5").c_str(), CpuClass::avx512_bf16));
    EXPECT_FALSE(runs_on("", CpuClass::avx512));
}

/** Tiles are no part of the classes above: what they are asked for by name alone. */
TEST(Cpu, RunsKernelsOfTilesInTheirClassAlone) {
    const char *tiles = "x86-64-linux-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_sapphirerapids";
    for (CpuClass other : {CpuClass::x86_64, CpuClass::avx2, CpuClass::avx512, CpuClass::avx512_bf16, CpuClass::avx512_zen5})
        EXPECT_FALSE(runs_on(tiles, other)) << name_of(other);
    if (std::getenv("ATTUNE_CPU")) GTEST_SKIP() << "ATTUNE_CPU says what tiles are asked for";
    EXPECT_EQ(runs_on(tiles, CpuClass::avx512_amx), std::string(attune_cpu_class()) == "avx512_amx");
}

} // namespace
} // namespace attune::runtime::cpu_test
