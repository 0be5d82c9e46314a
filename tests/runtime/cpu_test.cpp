#include "cpu.h"

#include <gtest/gtest.h>

namespace attune::runtime {
namespace {

TEST(Cpu, IsOnlyEverLowered) {
    CpuClass lowered = CpuClass::x86_64;
    ASSERT_TRUE(lower_class("avx2", CpuClass::avx512, lowered));
    EXPECT_EQ(lowered, CpuClass::avx2);
    ASSERT_TRUE(lower_class("avx512", CpuClass::avx2, lowered));
    EXPECT_EQ(lowered, CpuClass::avx2);
    ASSERT_TRUE(lower_class("x86-64", CpuClass::avx512, lowered));
    EXPECT_EQ(lowered, CpuClass::x86_64);
    EXPECT_FALSE(lower_class("AVX2", CpuClass::avx512, lowered));
    EXPECT_FALSE(lower_class("", CpuClass::avx512, lowered));
}

TEST(Cpu, RunsAKernelThatHasATargetOfItsClass) {
    const char *all = "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake,x86-64-linux-sse41-avx-f16c-fma-avx2,x86-64-linux";
    EXPECT_TRUE(runs_on(all, CpuClass::x86_64));
    EXPECT_TRUE(runs_on("x86-64-linux-user_context-large_buffers-no_runtime", CpuClass::x86_64));
    EXPECT_FALSE(runs_on("x86-64-linux-sse41-avx-f16c-fma-avx2", CpuClass::x86_64));
    EXPECT_TRUE(runs_on("x86-64-linux-sse41-avx-f16c-fma-avx2", CpuClass::avx2));
    EXPECT_FALSE(runs_on("x86-64-linux-avx2-avx512-avx512_skylake", CpuClass::avx2));
    EXPECT_TRUE(runs_on("x86-64-linux-avx2-avx512-avx512_skylake", CpuClass::avx512));
    EXPECT_FALSE(runs_on("", CpuClass::avx512));
}

} // namespace
} // namespace attune::runtime
