// State spaces: global, shared (static and dynamic), local, constant, generic addresses, atomics.
#include "kernel.h"

#include <numeric>

namespace attune::test {

using Memory = EmulatorTest;

static std::vector<uint32_t> count_up(size_t count) {
    std::vector<uint32_t> values(count);
    std::iota(values.begin(), values.end(), 0u);
    return values;
}

TEST_F(Memory, FreshMemoryIsNaN) {
    const DeviceBuffer buffer(40);
    EXPECT_EQ(buffer.read<uint32_t>(10), std::vector<uint32_t>(10, ~0u));
}

TEST_F(Memory, LoadsVectorsAndSmallTypes) {
    const std::string body = "mad.wide.u32 %d2, %r0, 16, %d0; mad.wide.u32 %d3, %r0, 16, %d1;\n"
                             "ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%d2]; st.global.v4.b32 [%d3], {%r4, %r3, %r2, %r1};";
    const auto got = run(body, count_up(128), 128);
    for (uint32_t i = 0; i < 128; ++i)
        EXPECT_EQ(got[i], i / 4 * 4 + 3 - i % 4);
    EXPECT_EQ(run("ld.global.s8 %r1, [%d0+3]; ld.global.u8 %r2, [%d0+3]; ld.global.s16 %r3, [%d0+2]; add.s32 %r1, %r1, %r2;\n"
                  "st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r3; st.global.u8 [%d1+4], 7;",
                  {0xfe012345}, 2, {1, 1, 0}),
              (std::vector<uint32_t>{0xfc, 0xfffffe07}));
}

TEST_F(Memory, SharedMemoryIsStaticAndDynamic) {
    const std::string before = ".extern .shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 fixed[128];";
    const std::string body =
        "shl.b32 %r5, %r0, 2; mov.u32 %r6, fixed; add.u32 %r6, %r6, %r5; mov.u64 %d5, dynamic; cvt.u64.u32 %d6, %r5; add.u64 %d5, %d5, "
        "%d6;\n"
        "ld.global.u32 %r1, [%d2]; st.shared.u32 [%r6], %r1; add.u32 %r1, %r1, 100; st.shared.u32 [%d5], %r1; bar.sync 0;\n"
        "mov.u32 %r7, fixed; sub.u32 %r8, 31, %r0; shl.b32 %r8, %r8, 2; add.u32 %r7, %r7, %r8; ld.shared.u32 %r2, [%r7];\n"
        "ld.shared.u32 %r3, [dynamic+4]; add.u32 %r2, %r2, %r3; st.global.u32 [%d3], %r2;";
    const auto got = run(body, count_up(32), 32, {1, 32, 128}, before);
    for (uint32_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[i], 31 - i + 101);
}

TEST_F(Memory, GenericAddressesReachAllSpaces) {
    const std::string before = ".shared .align 8 .b8 fixed[256];";
    const std::string body =
        ".local .align 8 .b8 depot[64];\n"
        "mov.u64 %d5, fixed; cvta.shared.u64 %d5, %d5; mad.wide.u32 %d5, %r0, 4, %d5; cvta.global.u64 %d6, %d2;\n"
        "ld.u32 %r1, [%d6]; st.u32 [%d5], %r1; ld.u32 %r2, [%d5]; mov.u64 %d7, depot; cvta.local.u64 %d8, %d7;\n"
        "st.local.u32 [%d7+8], %r2; ld.u32 %r3, [%d8+8]; isspacep.shared %p1, %d5; selp.u32 %r4, 1000, 0, %p1; add.u32 %r3, %r3, %r4;\n"
        "cvta.to.shared.u64 %d9, %d5; ld.shared.u32 %r5, [%d9]; add.u32 %r3, %r3, %r5; st.global.u32 [%d3], %r3;";
    const auto got = run(body, count_up(64), 64, {1, 64, 0}, before);
    for (uint32_t i = 0; i < 64; ++i)
        EXPECT_EQ(got[i], 2 * i + 1000);
}

TEST_F(Memory, ConstantsAndGlobalsHaveInitialValues) {
    const std::string before = ".const .align 4 .u32 table[4] = {5, 6, 7, 8};\n.global .align 4 .f32 scale = 0f40000000;\n.const .align 1 "
                               ".b8 bytes[4] = {1, 2, 3, 4};";
    const std::string body =
        "mov.u64 %d5, table; and.b32 %r1, %r0, 3; mad.wide.u32 %d5, %r1, 4, %d5; ld.const.u32 %r2, [%d5]; ld.global.f32 %r3, [scale];\n"
        "cvt.rzi.u32.f32 %r3, %r3; mul.lo.u32 %r2, %r2, %r3; ld.const.u8 %r4, [bytes+2]; add.u32 %r2, %r2, %r4; st.global.u32 [%d3], %r2;";
    EXPECT_EQ(run(body, {}, 4, {1, 4, 0}, before), (std::vector<uint32_t>{13, 15, 17, 19}));
}

TEST_F(Memory, AtomicsOfAllBlocksAddUp) {
    const std::string body =
        "mov.u32 %r1, 1; red.global.add.u32 [%d1], %r1; atom.global.max.u32 %r2, [%d1+4], %r0; mov.u32 %r3, 0f3F800000;\n"
        "red.global.add.f32 [%d1+8], %r3; atom.global.min.s32 %r2, [%d1+12], %r0; red.global.xor.b32 [%d1+16], %r0;";
    const std::string reset = "setp.ne.u32 %p1, %r0, 0; @%p1 bra DONE; mov.u32 %r9, 0; st.global.u32 [%d1], %r9; st.global.u32 [%d1+4], "
                              "%r9; st.global.u32 [%d1+8], %r9;\n"
                              "mov.u32 %r9, 1000; st.global.u32 [%d1+12], %r9; mov.u32 %r9, 5; st.global.u32 [%d1+16], %r9; DONE:";
    const DeviceBuffer out(64);
    std::string printed;
    ASSERT_EQ(launch(kernel(reset), {1, 32, 0}, {out.address, out.address}, printed), 0) << printed;
    ASSERT_EQ(launch(kernel(body), {64, 64, 0}, {out.address, out.address}, printed), 0) << printed;
    EXPECT_EQ(out.read<uint32_t>(5), (std::vector<uint32_t>{4096, 63, bits_of(4096.f), 0, 5}));
}

TEST_F(Memory, AtomicsOnSharedMemoryReturnTheOldValue) {
    const std::string before = ".shared .align 8 .b8 word[8];";
    const std::string body =
        "mov.u32 %r1, 0; st.shared.u32 [word], %r1; st.shared.u32 [word+4], %r1; bar.sync 0; atom.shared.add.u32 %r2, [word], 2;\n"
        "atom.shared.cas.b32 %r3, [word+4], %r2, 77; atom.shared.exch.b32 %r4, [word+4], 5; st.global.u32 [%d3], %r2;";
    const auto got = run(body, {}, 32, {1, 32, 0}, before);
    for (uint32_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[i], 2 * i);
    EXPECT_EQ(run("mov.u32 %r1, 3; st.global.u32 [%d1], %r1; atom.global.inc.u32 %r2, [%d1], 3; atom.global.cas.b32 %r3, [%d1], 0, 9; "
                  "st.global.u32 [%d1+4], %r3;",
                  {}, 2, {1, 1, 0}),
              (std::vector<uint32_t>{9, 0}));
}

TEST_F(Memory, RefusesWhatIsNotTheDevices) {
    refuses("ld.global.u32 %r1, [%d0+16384];", 700, "allocation");
    refuses("ld.global.u32 %r1, [%d0+16382];", 716, "is no multiple of 4");
    refuses("mov.u64 %d5, 4096; st.global.u32 [%d5], %r0;", 700, "no allocation");
    uint32_t host = 0;
    refuses("st.global.u32 [" + std::to_string(reinterpret_cast<uint64_t>(&host)) + "], %r0;", 700, "no allocation");
    const std::string before = ".shared .align 16 .b8 fixed[64];";
    refuses("ld.shared.u32 %r1, [fixed+64];", 700, "outside shared memory", {}, before);
    refuses("mov.u32 %r1, 0; ld.shared.u32 %r1, [%r1];", 700, "outside shared memory", {}, before);
    refuses("ld.shared.v2.u32 {%r1, %r2}, [fixed+4];", 716, "is no multiple of 8", {}, before);
    refuses(".local .align 4 .b8 depot[8]; ld.local.u32 %r1, [depot+8];", 700, "outside local memory");
    refuses("st.const.u32 [%d0], %r0;", 218, "constant memory");
}

TEST_F(Memory, ChecksEachLane) {
    refuses("setp.eq.u32 %p1, %r0, 17; selp.u64 %d5, 64, %d0, %p1; ld.global.u32 %r1, [%d5];", 700, "by lane 17");
    // Lanes that don't execute may hold any address.
    run("setp.eq.u32 %p1, %r0, 17; selp.u64 %d5, 64, %d0, %p1; @!%p1 ld.global.u32 %r1, [%d5];", {}, 1);
}

} // namespace attune::test
