// Operations between lanes, divergence and barriers.
#include "kernel.h"

namespace attune::test {

using WarpOperations = EmulatorTest;

static std::vector<uint32_t> expect_lanes(uint32_t (*value)(uint32_t)) {
    std::vector<uint32_t> values(32);
    for (uint32_t lane = 0; lane < 32; ++lane)
        values[lane] = value(lane);
    return values;
}

static std::vector<uint32_t> first_two(const std::vector<uint32_t> &values) { return {values[0], values[1]}; }

TEST_F(WarpOperations, ShuffleInAllModes) {
    const std::string end = " selp.u32 %r3, 100, 0, %p1; add.u32 %r2, %r2, %r3; st.global.u32 [%d3], %r2;";
    EXPECT_EQ(run("shfl.sync.bfly.b32 %r2, %r0, 5, 31, -1; st.global.u32 [%d3], %r2;", {}, 32),
              expect_lanes([](uint32_t l) { return l ^ 5; }));
    EXPECT_EQ(run("shfl.sync.up.b32 %r2|%p1, %r0, 3, 0, 0xffffffff;" + end, {}, 32),
              expect_lanes([](uint32_t l) { return l >= 3 ? l - 3 + 100 : l; }));
    EXPECT_EQ(run("shfl.sync.down.b32 %r2|%p1, %r0, 4, 31, -1;" + end, {}, 32),
              expect_lanes([](uint32_t l) { return l + 4 < 32 ? l + 104 : l; }));
    EXPECT_EQ(run("shfl.sync.idx.b32 %r2|%p1, %r0, 7, 31, -1;" + end, {}, 32), expect_lanes([](uint32_t) { return 107u; }));
    // Segments of eight lanes: c = (24 << 8) | 7.
    EXPECT_EQ(run("shfl.sync.idx.b32 %r2|%p1, %r0, 2, 6175, -1;" + end, {}, 32), expect_lanes([](uint32_t l) { return l / 8 * 8 + 102; }));
    EXPECT_EQ(run("shfl.sync.down.b32 %r2|%p1, %r0, 1, 6151, -1;" + end, {}, 32),
              expect_lanes([](uint32_t l) { return l % 8 == 7 ? l : l + 101; }));
}

TEST_F(WarpOperations, VotesAndReductions) {
    const std::string head = "setp.gt.u32 %p1, %r0, 20; ";
    EXPECT_EQ(run(head + "vote.sync.ballot.b32 %r2, %p1, -1; st.global.u32 [%d3], %r2;", {}, 32)[0], 0xffe00000);
    EXPECT_EQ(run(head + "vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, !%p1, -1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, "
                         "%p3; add.u32 %r2, %r2, %r3;\n"
                         "st.global.u32 [%d3], %r2;",
                  {}, 32)[0],
              1u);
    EXPECT_EQ(run("redux.sync.add.s32 %r2, %r0, -1; st.global.u32 [%d3], %r2;", {}, 32)[0], 496u);
    EXPECT_EQ(run("redux.sync.max.u32 %r2, %r0, -1; st.global.u32 [%d3], %r2;", {}, 32)[0], 31u);
    EXPECT_EQ(first_two(run("elect.sync _|%p1, -1; activemask.b32 %r3; selp.u32 %r2, %r3, 0, %p1; st.global.u32 [%d3], %r2;", {}, 32)),
              (std::vector<uint32_t>{~0u, 0}));
    EXPECT_EQ(first_two(run("and.b32 %r1, %r0, 1; match.any.sync.b32 %r2, %r1, -1; st.global.u32 [%d3], %r2;", {}, 32)),
              (std::vector<uint32_t>{0x55555555, 0xaaaaaaaa}));
}

TEST_F(WarpOperations, KnowSpecialRegisters) {
    EXPECT_EQ(
        run("mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mad.lo.u32 %r1, %r2, 100, %r1; st.global.u32 [%d3], %r1;", {}, 64, {1, 64, 0})[63],
        131u);
    EXPECT_EQ(run("mov.u32 %r1, %lanemask_lt; st.global.u32 [%d3], %r1;", {}, 32)[5], 31u);
    EXPECT_EQ(run("mov.u32 %r1, %ntid.x; mov.u32 %r2, %nctaid.x; mul.lo.u32 %r1, %r1, %r2; mov.u32 %r2, %clock; st.global.u32 [%d3], %r1;",
                  {}, 32, {3, 32, 0})[0],
              96u);
}

TEST_F(WarpOperations, DivergeAndMeetAgain) {
    // Each lane loops as often as its number says; afterwards the warp is whole.
    const std::string body = "mov.u32 %r1, 0; mov.u32 %r2, 0;\nLOOP: setp.ge.u32 %p1, %r2, %r0; @%p1 bra DONE; add.u32 %r1, %r1, %r2; "
                             "add.u32 %r2, %r2, 1; bra.uni LOOP;\n"
                             "DONE: shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; st.global.u32 [%d3], %r3;";
    EXPECT_EQ(run(body, {}, 32), expect_lanes([](uint32_t l) { return (l ^ 1) * ((l ^ 1) - 1) / 2; }));
    const std::string branches =
        "setp.lt.u32 %p1, %r0, 10; @!%p1 bra ELSE; mov.u32 %r1, 1; bra END; ELSE: mov.u32 %r1, 2; END: st.global.u32 [%d3], %r1;";
    EXPECT_EQ(run(branches, {}, 32), expect_lanes([](uint32_t l) { return l < 10 ? 1u : 2u; }));
    EXPECT_EQ(
        run("mov.u32 %r1, 1; st.global.u32 [%d3], %r1; setp.lt.u32 %p1, %r0, 10; @%p1 exit; mov.u32 %r1, 2; st.global.u32 [%d3], %r1;", {},
            32),
        expect_lanes([](uint32_t l) { return l < 10 ? 1u : 2u; }));
}

TEST_F(WarpOperations, CombinePredicates) {
    const std::string body =
        "setp.lt.u32 %p1, %r0, 10; setp.gt.and.u32 %p2|%p3, %r0, 5, %p1; selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3;\n"
        "setp.eq.or.u32 %p4, %r0, 31, !%p1; selp.u32 %r3, 4, 0, %p4; xor.pred %p5, %p1, %p2; not.pred %p5, %p5; selp.u32 %r4, 8, 0, %p5;\n"
        "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; st.global.u32 [%d3], %r1;";
    EXPECT_EQ(run(body, {}, 32), expect_lanes([](uint32_t l) {
                  const bool p1 = l<10, p2 = l> 5 && p1, p3 = l <= 5 && p1, p4 = l == 31 || !p1, p5 = p1 == p2;
                  return uint32_t(p2) + 2 * p3 + 4 * p4 + 8 * p5;
              }));
}

TEST_F(WarpOperations, BarriersOrderWarps) {
    const std::string before = ".shared .align 4 .b8 words[512];";
    const std::string body = "mov.u32 %r1, words; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0; bar.sync 0;\n"
                             "xor.b32 %r4, %r0, 64; shl.b32 %r4, %r4, 2; add.u32 %r4, %r1, %r4; ld.shared.u32 %r5, [%r4];\n"
                             "setp.lt.u32 %p1, %r0, 5; bar.red.popc.u32 %r6, 0, %p1; bar.red.or.pred %p2, 0, %p1; mad.lo.u32 %r5, %r6, "
                             "1000, %r5; st.global.u32 [%d3], %r5;";
    const auto got = run(body, {}, 128, {1, 128, 0}, before);
    for (uint32_t i = 0; i < 128; ++i)
        EXPECT_EQ(got[i], 5000 + (i ^ 64));
    // A pair of warps by a barrier of its own.
    const std::string pairs = "shr.u32 %r1, %r0, 6; add.u32 %r1, %r1, 1; barrier.sync %r1, 64; st.global.u32 [%d3], %r1;";
    EXPECT_EQ(run(pairs, {}, 128, {1, 128, 0})[127], 2u);
    const std::string arrive =
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra FIRST; bar.arrive 1, 64; bra END; FIRST: bar.sync 1, 64; END: st.global.u32 [%d3], %r0;";
    EXPECT_EQ(run(arrive, {}, 64, {1, 64, 0})[63], 63u);
}

TEST_F(WarpOperations, BarriersWaitForLanesThatComeFromFurtherOn) {
    EXPECT_EQ(run("mov.u32 %r1, 1; setp.lt.u32 %p1, %r0, 10; @%p1 bra FAR; MEET: bar.sync 0; bra END; FAR: mov.u32 %r1, 5; bra MEET;\n"
                  "END: st.global.u32 [%d3], %r1;",
                  {}, 32),
              expect_lanes([](uint32_t l) { return l < 10 ? 5u : 1u; }));
    refuses("setp.lt.u32 %p1, %r0, 10; @%p1 bra FAR; bar.sync 0; bra END; FAR: bar.sync 0; END:", 719, "divergent");
}

TEST_F(WarpOperations, AreRefusedWhereAWarpIsDivergent) {
    const std::string split = "setp.lt.u32 %p1, %r0, 10; @%p1 bra END; ";
    refuses(split + "shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; END:", 719, "divergent");
    refuses(split + "bar.sync 0; END:", 719, "divergent");
    refuses("setp.lt.u32 %p1, %r0, 10; @%p1 vote.sync.any.pred %p2, %p1, -1;", 719, "divergent");
    refuses("setp.lt.u32 %p1, %r0, 32; @%p1 bra END; bar.sync 0; END:", 719, "a barrier that not all warps reach", {1, 64, 0});
    refuses("bar.sync 0, 48;", 719, "no multiple of 32", {1, 64, 0});
    refuses("shfl.sync.idx.b32 %r1, %r0, 1, 31, 1;", 719, "does not name it");
}

} // namespace attune::test
