// The race check, and other orders of warps.
#include "kernel.h"

namespace attune::test::race_test {

class Races : public EmulatorTest {
protected:
    void SetUp() override {
        setenv("ATTUNE_EMULATOR_RACES", "1", 1);
        EmulatorTest::SetUp();
    }
    void TearDown() override {
        EmulatorTest::TearDown();
        unsetenv("ATTUNE_EMULATOR_RACES");
    }
};

static const std::string before = ".shared .align 16 .b8 words[1024];";
// %r3 is the thread's word, %r4 that of a thread of the other warp.
static const std::string places = "mov.u32 %r1, words; mad.lo.u32 %r3, %r0, 4, %r1; xor.b32 %r4, %r0, 32; mad.lo.u32 %r4, %r4, 4, %r1;\n";
static const Shape two_warps{1, 64, 0};

TEST_F(Races, AreFound) {
    refuses(places + "st.shared.u32 [%r3], %r0;\nld.shared.u32 %r5, [%r4];", 719, "a race: warp 0 read", two_warps, before);
    refuses(places + "ld.shared.u32 %r5, [%r3];\nst.shared.u32 [%r4], %r0;", 719, "a race: warp 0 wrote", two_warps, before);
    refuses(places + "st.shared.u32 [words], %r0;", 719, "a race: warp 0 wrote", two_warps, before);
    // The barrier is of the wrong warps.
    refuses(places + "shr.u32 %r6, %r0, 5; add.u32 %r6, %r6, 1; st.shared.u32 [%r3], %r0; barrier.sync %r6, 32; ld.shared.u32 %r5, [%r4];",
            719, "a race", two_warps, before);
    // Reading, a barrier too few, writing for the next turn.
    refuses(places + "mov.u32 %r7, 0;\nL: st.shared.u32 [%r3], %r0; bar.sync 0; ld.shared.u32 %r5, [%r4]; add.u32 %r7, %r7, 1; setp.lt.u32 "
                     "%p1, %r7, 2; @%p1 bra L;",
            719, "a race", two_warps, before);
}

TEST_F(Races, NameBothLines) {
    refuses(places + "st.shared.u32 [%r3], %r0;\nld.shared.u32 %r5, [%r4];", 719, "shared memory at PTX line 12", two_warps, before);
    refuses(places + "st.shared.u32 [%r3], %r0;\nld.shared.u32 %r5, [%r4];", 719, "PTX line 11, \"st.shared.u32", two_warps, before);
}

TEST_F(Races, AreNotSeenWhereBarriersAre) {
    run(places + "st.shared.u32 [%r3], %r0; bar.sync 0; ld.shared.u32 %r5, [%r4]; bar.sync 0; st.shared.u32 [%r3], %r5; st.global.u32 "
                 "[%d3], %r5;",
        {}, 64, two_warps, before);
    run(places + "atom.shared.add.u32 %r5, [words], 1; bar.sync 0; ld.shared.u32 %r5, [words]; st.global.u32 [%d3], %r5;", {}, 64,
        two_warps, before);
    const std::string handover = "setp.lt.u32 %p1, %r0, 32; @!%p1 bra SECOND; st.shared.u32 [%r3], %r0; bar.arrive 1, 64; bra END;\n"
                                 "SECOND: bar.sync 1, 64; ld.shared.u32 %r5, [%r4]; END: st.global.u32 [%d3], %r0;";
    run(places + handover, {}, 64, two_warps, before);
}

/** Marks of one block mean nothing to the next, which still has its own. */
TEST_F(Races, AreOfOneBlock) {
    const Shape blocks{9, 64, 0};
    const std::string store = places + "st.shared.u32 [%r3], %r0;\n", load = "ld.shared.u32 %r5, [%r4]; st.global.u32 [%d3], %r5;";
    run(store + "bar.sync 0;\n" + load, {}, 64, blocks, before);
    const std::string last_goes_on = "mov.u32 %r6, %ctaid.x; setp.eq.u32 %p1, %r6, 8; @%p1 bra ON; bar.sync 0; bar.sync 0; ON:\n";
    refuses(store + last_goes_on + load, 719, "block (8, 0, 0), warp 1: a race: warp 0 read", blocks, before);
}

TEST_F(Races, AreSeenWithAsynchronousCopies) {
    const std::string copy = "mad.wide.u32 %d2, %r0, 4, %d0; cp.async.ca.shared.global [%r3], [%d2], 4; cp.async.commit_group;\n";
    const std::vector<uint32_t> in(64);
    run(places + copy + "cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r5, [%r4]; st.global.u32 [%d3], %r5;", in, 64, two_warps,
        before);
    refuses(places + copy + "bar.sync 0; cp.async.wait_group 0; ld.shared.u32 %r5, [%r4];", 719, "a race", two_warps, before);
}

TEST_F(EmulatorTest, WarpsRunInReverse) {
    // The warp that runs last writes last.
    const std::string body = "mov.u32 %r1, %warpid; setp.eq.u32 %p1, %r1, 9; st.global.u32 [%d1], %r1;";
    EXPECT_EQ(run(body, {}, 1, {1, 128, 0})[0], 3u);
    setenv("ATTUNE_EMULATOR_REVERSE", "1", 1);
    EXPECT_EQ(run(body, {}, 1, {1, 128, 0})[0], 0u);
    unsetenv("ATTUNE_EMULATOR_REVERSE");
}

} // namespace attune::test::race_test
