// Run once for each CPU class that ATTUNE_CPU can lower to (see CMakeLists.txt): right results from that class's kernels.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "agreement_test.h"
#include "position_oracle.h"
#include "softmax_oracle.h"

namespace attune::test {
namespace {

ATTUNE_AGREEMENT_SUITE(CpuClass);

TEST_P(CpuClass, GivesRightAttention) {
    for (const AttentionProblem &p : problems()) {
        SCOPED_TRACE(describe(p));
        expect_agrees_with_oracle(run(p, Call(2)), p);
    }
}

TEST_P(CpuClass, KeepsThePromisesOnNaN) {
    AttentionProblem p = normal_problem(shape(37, 65, 2, 2, 1), random);
    p.mask = "causal", p.offset = 10, p.key_lengths = {65, 30};
    const AttentionRun clean = run(p);
    for (int64_t j = 30; j < 65; j++)
        for (int64_t d = 0; d < p.dim(); d++)
            p.k(1, 0, j, d) = NAN;
    expect_same_bits(run(p), clean);
    p.v(0, 0, 20, 2) = NAN, p.k(1, 0, 12, 3) = NAN, p.q(0, 1, 5, 0) = INFINITY;
    expect_agrees_with_oracle(run(p), p, {false, 0.2});
}

TEST_P(CpuClass, GivesTheSameBitsForAnyNumberOfThreads) {
    for (const AttentionProblem &p : problems())
        expect_same_bits(run(p, Call(3)), run(p));
}

bool is_zen5() {
    std::ifstream info("/proc/cpuinfo");
    const std::string text((std::istreambuf_iterator<char>(info)), {});
    const size_t family = text.find("cpu family");
    return __builtin_cpu_is("amd") && text.find("avx_vnni") != std::string::npos && family != std::string::npos &&
           std::stoi(text.substr(text.find(':', family) + 1)) >= 26;
}

// Clang's __builtin_cpu_supports knew no "f16c" for long.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_tiles() {
    std::ifstream info("/proc/cpuinfo");
    const std::string text((std::istreambuf_iterator<char>(info)), {});
    constexpr long request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return text.find(" amx_tile") != std::string::npos && text.find(" amx_bf16") != std::string::npos &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

/** The class asked for, or the machine's own where that is lower: both run everything, so no machine is left out. An emulator's CPU is
 * known beforehand. */
TEST(CpuClassOfThisRun, IsTheOneAskedFor) {
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512bw"), bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
    const std::string offered = bf16 && is_zen5() ? "avx512_zen5"
                                : bf16            ? "avx512_bf16"
                                : avx512          ? "avx512"
                                : avx2            ? "avx2"
                                                  : "x86-64",
                      own = attune_cpu_class();
    const char *asked = std::getenv("ATTUNE_CPU");
    if (const char *emulated = std::getenv("ATTUNE_TEST_CPU_CLASS")) {
        EXPECT_EQ(own, emulated);
        return;
    }
    const std::vector<std::string> classes = {"x86-64", "avx2", "avx512", "avx512_amx", "avx512_bf16", "avx512_zen5"};
    const auto rank = [&](const std::string &name) { return std::find(classes.begin(), classes.end(), name) - classes.begin(); };
    const bool tiles = bf16 && has_tiles();
    if (asked && (asked != std::string("avx512_amx") || tiles)) {
        EXPECT_EQ(rank(own), std::min(rank(asked), rank(offered))) << own;
    } else if (asked) {
        EXPECT_EQ(rank(own), std::min(rank("avx512"), rank(offered))) << own;
    } else {
        EXPECT_EQ(own, !bf16 || __builtin_cpu_is("amd") ? offered : tiles ? "avx512_amx" : "avx512");
    }
}

/** A kernel built for a higher class alone is refused in a sentence, never run. */
TEST_P(CpuClass, RefusesAKernelOfAHigherClass) {
    const std::string mine = attune_cpu_class();
    const bool highest = mine == "avx512_zen5";
    attune_kernel higher = kernel();
    higher.targets = mine == "x86-64" ? "x86-64-linux-sse41-avx-f16c-fma-avx2"
                     : mine == "avx2" ? "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake"
                     : mine == "avx512" || mine == "avx512_amx"
                         ? "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4"
                         : "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4-avx512_zen5";
    AttentionDesc desc;
    desc.head_dim = head_dim_or(kernel(), 20), desc.value_dim = value_dim_or(kernel(), 12), desc.kernel = &higher;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    EXPECT_EQ(plan.status().code, highest ? ATTUNE_OK : ATTUNE_UNSUPPORTED);
    EXPECT_EQ(plan.ok(), highest);
    if (!plan.ok()) {
        EXPECT_NE(plan.status().message.find(mine), std::string::npos) << plan.status().message;
    }
}

TEST(CpuClassOfThisRun, GivesRightSoftmaxAndPositions) {
    Random random(2);
    const Tensor<float> x({5, 77}), y({5, 77}), turned({5, 76}), even({5, 76}), table({5, 77});
    random.fill_normal(x), random.fill_normal(even);
    ASSERT_TRUE(softmax(x.view(), y.view()).ok());
    RotaryOptions far;
    far.offset = 999990;
    ASSERT_TRUE(rotary(even.view(), turned.view(), far).ok());
    ASSERT_TRUE(sinusoidal(table.view(), {10000, 999990, ""}).ok());
    EXPECT_TRUE(agrees(to_double(y), softmax_in_double(x, 1, false), {1e-6}));
    EXPECT_TRUE(agrees(to_double(turned), rotary_in_long_double(even, 10000, RotaryLayout::half, 76, 999990), {6e-5}));
    EXPECT_TRUE(agrees(to_double(table), sinusoidal_in_long_double(5, 77, 10000, 999990), {1e-5, 1, 1}));
}

} // namespace
} // namespace attune::test
