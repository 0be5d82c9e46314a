// cp.async: what arrives, and when.
#include "kernel.h"

namespace attune::test {

using Copies = EmulatorTest;
static const std::string before = ".extern .shared .align 16 .b8 dynamic[];";
static const std::string places = "mov.u32 %r5, dynamic; mad.lo.u32 %r6, %r0, 16, %r5; mad.wide.u32 %d2, %r0, 16, %d0;\n";

static std::vector<uint32_t> sixteens() {
    std::vector<uint32_t> values(128);
    for (uint32_t i = 0; i < 128; ++i)
        values[i] = i + 1;
    return values;
}

TEST_F(Copies, ArriveWhenWaitedFor) {
    const auto got = run(
        places + "cp.async.cg.shared.global [%r6], [%d2], 16; cp.async.commit_group; ld.shared.u32 %r7, [%r6+4];\n"
                 "cp.async.wait_group 0; ld.shared.u32 %r8, [%r6+4]; mad.wide.u32 %d3, %r0, 8, %d1; st.global.v2.u32 [%d3], {%r7, %r8};",
        sixteens(), 64, {1, 32, 512}, before);
    for (uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[2 * i], ~0u); // poisoned
        EXPECT_EQ(got[2 * i + 1], 4 * i + 2);
    }
}

TEST_F(Copies, WaitForTheOlderGroups) {
    const auto got =
        run(places + "cp.async.ca.shared.global [%r6], [%d2], 4; cp.async.commit_group; cp.async.ca.shared.global [%r6+4], [%d2+4], 4;\n"
                     "cp.async.commit_group; cp.async.wait_group 1; ld.shared.v2.u32 {%r7, %r8}, [%r6]; cp.async.wait_all;\n"
                     "mad.wide.u32 %d3, %r0, 8, %d1; st.global.v2.u32 [%d3], {%r7, %r8};",
            sixteens(), 64, {1, 32, 512}, before);
    EXPECT_EQ(got[2], 5u);
    EXPECT_EQ(got[3], ~0u);
}

TEST_F(Copies, FillWithZeros) {
    const auto got = run(
        places +
            "setp.lt.u32 %p1, %r0, 16; selp.u32 %r9, 8, 0, %p1; cp.async.cg.shared.global [%r6], [%d2], 16, %r9; cp.async.wait_all;\n"
            "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r6]; mad.wide.u32 %d3, %r0, 16, %d1; st.global.v4.u32 [%d3], {%r1, %r2, %r3, %r4};",
        sixteens(), 128, {1, 32, 512}, before);
    EXPECT_EQ((std::vector<uint32_t>(got.begin() + 60, got.begin() + 68)), (std::vector<uint32_t>{61, 62, 0, 0, 0, 0, 0, 0}));
}

TEST_F(Copies, IgnoreTheirSource) {
    // Lanes that read nothing may have any source.
    const auto got = run(
        places +
            "setp.ge.u32 %p1, %r0, 16; selp.u64 %d2, 16, %d2, %p1; cp.async.cg.shared.global [%r6], [%d2], 16, %p1; cp.async.wait_all;\n"
            "ld.shared.u32 %r1, [%r6]; st.global.u32 [%d3], %r1;",
        sixteens(), 32, {1, 32, 512}, before);
    EXPECT_EQ(got[15], 61u);
    EXPECT_EQ(got[16], 0u);
}

TEST_F(Copies, AreRefused) {
    refuses(places + "cp.async.cg.shared.global [%r6], [%d2+4], 16;", 716, "is no multiple of 16", {1, 32, 512}, before);
    refuses(places + "cp.async.cg.shared.global [%r6], [%d2], 16;", 700, "outside shared memory", {1, 32, 256}, before);
    refuses(places + "cp.async.cg.shared.global [%r6], [%d2], 8;", 218, "size of a copy", {1, 32, 512}, before);
    refuses("setp.eq.u32 %p1, %r0, 3; @%p1 bra X; cp.async.commit_group; X:", 719, "divergent");
}

} // namespace attune::test
