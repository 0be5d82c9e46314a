// wgmma against plain products; and what is asked of code around it: fences, waits, and warps that go together.
#include "matrix_entries.h"

#include <cmath>

namespace attune::test {

using Warpgroups = EmulatorTest;

/** Where an element of a matrix lies, in bytes: `width` bytes of swizzle, lines of 8. */
static uint32_t swizzled(uint32_t line, uint32_t place, uint32_t width, uint32_t stride) {
    const uint32_t at = line / 8 * stride + line % 8 * width + place * 2;
    return at ^ (at >> 7 & (width / 16 - 1)) << 4;
}

static void put(std::vector<uint32_t> &memory, uint32_t at, int value) {
    memory[at / 4] = (memory[at / 4] & ~(0xffffu << at % 4 * 8)) | brain_bits(static_cast<float>(value)) << at % 4 * 8;
}

/** 64 by 16 times 16 by 8 by a warpgroup: A at 0, B at 8192, both swizzled by `width` bytes; the result is [64][8]. */
struct GroupCase {
    uint32_t width, code; // of the descriptor
    bool transposed_b, a_in_registers;
};

static std::vector<uint32_t> group_memory(const GroupCase &c) {
    std::vector<uint32_t> memory(4096);
    for (uint32_t row = 0; row < 64; ++row) {
        for (uint32_t k = 0; k < 16; ++k)
            put(memory, swizzled(row, k, c.width, 8 * c.width), entry(row, k, 1));
    }
    for (uint32_t column = 0; column < 8; ++column) {
        for (uint32_t k = 0; k < 16; ++k) {
            const uint32_t at = c.transposed_b ? swizzled(k, column, c.width, 8 * c.width) : swizzled(column, k, c.width, 8 * c.width);
            put(memory, 8192 + at, entry(k, column, 2));
        }
    }
    return memory;
}

static const std::string memory = ".extern .shared .align 1024 .b8 dynamic[];";
static const Shape warpgroup{1, 128, 16384};

/** Copies the input to shared memory. */
static const std::string fill =
    "mov.u32 %r5, dynamic; mov.u32 %r1, %r0;\n"
    "FILL: shl.b32 %r2, %r1, 2; cvt.u64.u32 %d4, %r2; add.u64 %d4, %d0, %d4; ld.global.u32 %r3, [%d4]; add.u32 %r2, %r5, %r2;\n"
    "st.shared.u32 [%r2], %r3; add.u32 %r1, %r1, 128; setp.lt.u32 %p1, %r1, 4096; @%p1 bra FILL;\n";
static const std::string fence_writes = "fence.proxy.async.shared::cta;\n", barrier = "bar.sync 0;\n";
static const std::string fence = "wgmma.fence.sync.aligned;\n", commit = "wgmma.commit_group.sync.aligned;\n";
static const std::string wait = "wgmma.wait_group.sync.aligned 0;\n";

/** %d5 and %d6, descriptors of A and B, and if it is in registers A's fragment, %r10 to %r13. Addresses begin at a multiple of 1024. */
static std::string operands(const GroupCase &c) {
    const uint64_t fixed = static_cast<uint64_t>(c.code) << 62 | static_cast<uint64_t>(8 * c.width / 16) << 32 | 1ull << 16;
    const std::string descriptors = "shr.u32 %r6, %r5, 4; cvt.u64.u32 %d5, %r6; or.b64 %d5, %d5, " +
                                    std::to_string(static_cast<int64_t>(fixed)) + "; add.u64 %d6, %d5, 512;\n";
    if (!c.a_in_registers) return descriptors;
    // By ldmatrix, from places worked out for the warp's lanes.
    return descriptors +
           "shr.u32 %r7, %r0, 5; and.b32 %r8, %r0, 15; mad.lo.u32 %r8, %r7, 16, %r8; shl.b32 %r8, %r8, 7; bfe.u32 %r9, %r0, 4, 1; "
           "shl.b32 %r9, %r9, 4;\n"
           "or.b32 %r8, %r8, %r9; shr.u32 %r9, %r8, 7; and.b32 %r9, %r9, 7; shl.b32 %r9, %r9, 4; xor.b32 %r8, %r8, %r9; add.u32 %r8, "
           "%r8, %r5;\n"
           "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];\n";
}

/** `keeps`: the scale of the sums, a predicate or a number. */
static std::string multiply(const GroupCase &c, const std::string &keeps) {
    const std::string a = c.a_in_registers ? "{%r10, %r11, %r12, %r13}" : "%d5";
    return "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r20, %r21, %r22, %r23}, " + a + ", %d6, " + keeps + ", 1, 1" +
           (c.a_in_registers ? "" : ", 0") + (c.transposed_b ? ", 1;\n" : ", 0;\n");
}

static std::string store_sums() {
    return "mad.wide.u32 %d3, %r0, 16, %d1;\nst.global.u32 [%d3], %r20; st.global.u32 [%d3+4], %r21; st.global.u32 [%d3+8], %r22;\n"
           "st.global.u32 [%d3+12], %r23;\n";
}

static void expect_product(const std::vector<uint32_t> &got, int times, const std::string &what) {
    for (uint32_t thread = 0; thread < 128; ++thread) {
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2), column = 2 * (thread % 4) + i % 2;
            ASSERT_EQ(float_of(got[4 * thread + i]), static_cast<float>(times * product(row, column, 16)))
                << what << ", row " << row << ", column " << column;
        }
    }
}

TEST_F(Warpgroups, Multiply) {
    const GroupCase cases[] = {{128, 1, false, false}, {64, 2, false, false}, {32, 3, false, false},
                               {128, 1, true, false},  {64, 2, true, false},  {128, 1, false, true}};
    for (const GroupCase &c : cases) {
        const std::string body = fill + fence_writes + barrier + operands(c) + fence;
        const std::string what =
            "swizzle " + std::to_string(c.width) + (c.transposed_b ? ", transposed" : "") + (c.a_in_registers ? ", A in registers" : "");
        const auto sums = [&](const std::string &products) {
            return run(body + products + commit + wait + store_sums(), group_memory(c), 512, warpgroup, memory);
        };
        expect_product(sums("mov.pred %p2, 0;\n" + multiply(c, "%p2")), 1, what);
        expect_product(sums(multiply(c, "0") + multiply(c, "1") + commit + multiply(c, "1")), 3, what + ", three times");
    }
}

const GroupCase plain = {128, 1, false, false};

TEST_F(Warpgroups, SumsAppearWhenWaitedFor) {
    const std::string begin = fill + fence_writes + barrier + operands(plain) + fence + multiply(plain, "0") + commit;
    for (const uint32_t bits : run(begin + store_sums() + wait, group_memory(plain), 512, warpgroup, memory))
        ASSERT_TRUE(std::isnan(float_of(bits)));
    const std::string another = multiply(plain, "1") + commit;
    for (const uint32_t bits :
         run(begin + another + "wgmma.wait_group.sync.aligned 1;\n" + store_sums() + wait, group_memory(plain), 512, warpgroup, memory))
        ASSERT_TRUE(std::isnan(float_of(bits))) << "the second product still adds to them";
}

TEST_F(Warpgroups, OverwrittenSumsNeedNoValue) {
    setenv("ATTUNE_EMULATOR_UNINITIALISED", "1", 1);
    const std::string begin = fill + fence_writes + barrier + operands(plain) + fence, end = commit + wait + store_sums();
    expect_product(run(begin + multiply(plain, "0") + end, group_memory(plain), 512, warpgroup, memory), 1, "overwritten");
    refuses(begin + multiply(plain, "1") + end, 719, "never written", warpgroup, memory);
    unsetenv("ATTUNE_EMULATOR_UNINITIALISED");
}

TEST_F(Warpgroups, NeedFences) {
    const std::string end = multiply(plain, "0") + commit + wait;
    refuses(fill + fence_writes + barrier + operands(plain) + end, 719, "no wgmma.fence", warpgroup, memory);
    refuses(fill + fence_writes + barrier + operands(plain) + fence + end + end, 719, "no wgmma.fence", warpgroup, memory);
    refuses(fill + barrier + operands(plain) + fence + end, 719, "no fence.proxy.async since", warpgroup, memory);
    refuses(fence_writes + fill + barrier + operands(plain) + fence + end, 719, "no fence.proxy.async since", warpgroup, memory);
    run(fill + barrier + fence_writes + operands(plain) + fence + end, group_memory(plain), 1, warpgroup,
        memory); // the reader's does as well
    const std::string copies = "mov.u32 %r5, dynamic; mad.lo.u32 %r6, %r0, 16, %r5; mad.wide.u32 %d4, %r0, 16, %d0;\n"
                               "cp.async.cg.shared.global [%r6], [%d4], 16; cp.async.commit_group; cp.async.wait_group 0;\n";
    refuses(copies + barrier + operands(plain) + fence + end, 719, "no fence.proxy.async since", warpgroup, memory);
}

TEST_F(Warpgroups, ReadUntilWaitedFor) {
    const std::string begin = fill + fence_writes + barrier + operands(plain) + fence + multiply(plain, "0") + commit;
    const std::string change = "st.shared.u32 [dynamic+8192], 1065369472;\n";
    refuses(begin + change + fence_writes + wait, 719, "changed between a wgmma", warpgroup, memory);
    run(begin + wait + barrier + change, group_memory(plain), 1, warpgroup, memory);
}

TEST_F(Warpgroups, GoTogether) {
    const std::string begin = fill + fence_writes + barrier + operands(plain) + fence, end = multiply(plain, "0") + commit + wait;
    refuses(begin + "and.b32 %r7, %r0, 32; cvt.u64.u32 %d7, %r7; add.u64 %d6, %d6, %d7;\n" + end, 719,
            "a matrix descriptor differs within the warpgroup", warpgroup, memory);
    refuses(begin + "setp.lt.u32 %p1, %r0, 64; @%p1 bra SECOND;\n" + end + "bra END;\nSECOND: " + end + "END:\n", 719,
            "come to different wgmma", warpgroup, memory);
    refuses(begin + end, 719, "2 warps, no multiple of 4", {1, 64, 16384}, memory);
}

} // namespace attune::test
