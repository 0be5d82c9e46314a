// Copies from global to shared memory: which become asynchronous, and what waits for them.
#include "snippets.h"

namespace attune::ptx::async_copies_test {
namespace {

RewriteOptions stages(int n) {
    RewriteOptions options;
    options.stages = n;
    return options;
}

/** Loads 16 bytes from [from] and stores them to [to], by registers of its own. */
std::string copy(const std::string &to, const std::string &from) {
    static int count = 0;
    const std::string low = "%rd" + std::to_string(100 + 2 * count), high = "%rd" + std::to_string(101 + 2 * count);
    ++count;
    return "ld.global.nc.v2.b64 {" + low + ", " + high + "}, [" + from + "];\nst.shared.v2.b64 [" + to + "], {" + low + ", " + high +
           "};\n";
}

const char *const barrier = "bar.sync 0;\n";
const char *const read_shared = "ld.shared.b32 %r1, [%rd9];\nst.global.b32 [%rd8], %r1;\n";

/** A loop over %r7 with a tile at %rd1 that moves with it: `copies` first, then a barrier, `work`, a barrier. */
std::string loop(const std::string &copies, const std::string &work = read_shared) {
    return "mov.b32 %r7, 0;\nmov.b64 %rd1, 0;\n$L__1:\nxor.b64 %rd2, %rd1, 4096;\n" + copies + barrier + work + barrier +
           "mov.b64 %rd1, %rd2;\nadd.s32 %r7, %r7, 1;\nsetp.ne.s32 %p1, %r7, %r6;\n@%p1 bra $L__1;\n";
}

/** A loop that first reads what the iteration before copied. */
std::string rotated() {
    return "mov.b64 %rd1, 0;\n$L__1:\n" + std::string(read_shared) + barrier + "xor.b64 %rd1, %rd1, 4096;\n" + copy("%rd1", "%rd3") +
           barrier + "setp.ne.s32 %p1, %r7, %r6;\n@%p1 bra $L__1;\n";
}

TEST(AsyncCopies, PairLoadsAndStores) {
    EXPECT_EQ(rewritten(copy("%rd1", "%rd3+16") + barrier + read_shared),
              "mov.u64 %attune_shared, attune_shared;\ncp.async.cg.shared.global [%rd1_shared], [%rd3+16], 16;\ncp.async.commit_group;\n"
              "cp.async.wait_group 0;\nbar.sync 0;\nld.shared.b32 %r1, [%rd9_shared];\nst.global.b32 [%rd8], %r1;\nret;\n");
    RewriteOptions none;
    none.async_copies = false;
    EXPECT_EQ(lines_with("cp.async", rewritten(copy("%rd1", "%rd3") + barrier + read_shared, none)), 0);
}

TEST(AsyncCopies, TakeFourWordsAndCoherentLoads) {
    EXPECT_EQ(lines_with("cp.async.cg",
                         rewritten("ld.global.v4.f32 {%r1, %r2, %r3, %r4}, [%rd3];\nst.shared.v4.f32 [%rd1], {%r1, %r2, %r3, %r4};\n" +
                                   std::string(barrier))),
              1);
}

TEST(AsyncCopies, LeaveOtherPairsAlone) {
    const std::string load = "ld.global.v2.b64 {%rd50, %rd51}, [%rd3];\n", store = "st.shared.v2.b64 [%rd1], {%rd50, %rd51};\n";
    const std::string others[] = {
        load + store + "st.global.b64 [%rd8], %rd50;\n" + barrier,                                // the value is used
        load + "st.global.b32 [%rd8], %r1;\n" + store + barrier,                                  // may change the source
        load + "add.s64 %rd3, %rd3, 16;\n" + store + barrier,                                     // the address changes
        load + barrier + store + barrier,                                                         // a barrier between
        load + "$L__1:\n" + store + barrier,                                                      // another block
        "ld.global.v2.b64 {%rd50, %rd51}, [%rd3];\nst.shared.v2.b64 [%rd1], {%rd51, %rd50};\n",   // swapped
        "ld.global.v2.b32 {%r1, %r2}, [%rd3];\nst.shared.v2.b32 [%rd1], {%r1, %r2};\n",           // 8 bytes
        load + store + read_shared + barrier,                                                     // the thread reads it at once
        load + store + "st.shared.b32 [%rd9], %r1;\n" + barrier,                                  // writes near it
        "ld.shared.b32 %r1, [%rd9];\n" + load + store + barrier + "st.global.b32 [%rd8], %r1;\n", // reads before it
    };
    for (const std::string &text : others)
        EXPECT_EQ(lines_with("cp.async", rewritten(text)), 0) << text;
}

TEST(AsyncCopies, WaitAtOnceWithOneStage) {
    const std::string text = rewritten(loop(copy("%rd2", "%rd3")), stages(1));
    EXPECT_EQ(lines_with("cp.async.cg", text), 1);
    EXPECT_EQ(lines_with("cp.async.commit_group", text), 1);
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", text), 1);
}

TEST(AsyncCopies, StayInFlightInALoop) {
    for (int n : {2, 3, 4}) {
        const std::string text = rewritten(loop(copy("%rd2", "%rd3") + copy("%rd2+4096", "%rd4")), stages(n));
        EXPECT_EQ(lines_with("cp.async.cg", text), 2);
        EXPECT_EQ(lines_with("cp.async.commit_group", text), 1);
        EXPECT_EQ(lines_with("cp.async.wait_group", text), 1);
        // The barrier after what is read closes what was copied before, too: that much less may be left.
        EXPECT_NE(text.find("cp.async.wait_group " + std::to_string(n - 2) + ";\nbar.sync 0;\nmov.b64 %rd1, %rd2;"), std::string::npos)
            << text;
        EXPECT_EQ(lines_with("bar.sync", text), 1);
    }
}

TEST(AsyncCopies, KeepBothBarriersOfALoop) {
    const auto barriers = [](const std::string &text, int n) { return lines_with("bar.sync", rewritten(text, stages(n))); };
    const std::string two = loop(copy("%rd2", "%rd3"));
    EXPECT_EQ(barriers(two, 1), 2); // read at once
    EXPECT_EQ(barriers(two, 2), 1);
    EXPECT_EQ(barriers(rotated(), 2), 2); // the second comes after what the next iteration reads
    EXPECT_EQ(barriers(loop(copy("%rd2", "%rd3"), read_shared + (barrier + std::string(read_shared))), 2), 3); // a third between
    EXPECT_EQ(barriers(loop(copy("%rd2", "%rd3") + "st.global.b32 [%rd8], %r1;\n"), 2), 2);                    // it orders what is stored
    // The loop is left between them, an inner loop has one, or some iterations end without the second.
    const std::string leaves = "setp.eq.s32 %p2, %r7, 5;\n@%p2 bra $L__3;\n", begin = "mov.b64 %rd1, %rd2";
    EXPECT_EQ(barriers(loop(copy("%rd2", "%rd3"), read_shared + leaves) + "$L__3:\n", 2), 2);
    const std::string inner = "$L__4:\n" + std::string(barrier) + read_shared + "setp.ne.s32 %p3, %r8, %r9;\n@%p3 bra $L__4;\n";
    EXPECT_EQ(barriers(loop(copy("%rd2", "%rd3"), inner), 2), 3);
    std::string skipping = loop(copy("%rd2", "%rd3"), read_shared + leaves);
    skipping.insert(skipping.find(begin), "$L__3:\n");
    EXPECT_EQ(barriers(skipping, 2), 2);
}

TEST(AsyncCopies, MergeBarriersBetweenCopies) {
    const std::string text = rewritten(loop(copy("%rd2", "%rd3") + barrier + copy("%rd2+4096", "%rd4")), stages(2));
    EXPECT_EQ(lines_with("bar.sync", text), 1) << text;
    EXPECT_EQ(lines_with("cp.async.commit_group", text), 1);
}

TEST(AsyncCopies, CountTheGroupsOfAnIteration) {
    // Two groups an iteration, with work between them. At the first barrier the groups of the iteration before last must be finished: all
    // but the last group of the iteration before and the one just closed are 1; at the second barrier 2 may be left.
    const std::string text = rewritten(loop(copy("%rd2", "%rd3") + barrier + read_shared + barrier + copy("%rd2+4096", "%rd4")), stages(2));
    EXPECT_EQ(lines_with("cp.async.commit_group", text), 2);
    EXPECT_EQ(lines_with("cp.async.wait_group 1;", text), 1) << text;
    EXPECT_EQ(lines_with("cp.async.wait_group 2;", text), 1) << text;
}

TEST(AsyncCopies, WaitEarlierIfTheLoopReadsFirst) {
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", rewritten(rotated(), stages(2))), 1);
    EXPECT_EQ(lines_with("cp.async.wait_group 1;", rewritten(rotated(), stages(3))), 1);
}

TEST(AsyncCopies, LeaveTilesWithOnePlaceToThePlainWay) {
    // %rd5 is the same in every iteration: what goes there is read in the iteration that copies it.
    const std::string text = rewritten(loop(copy("%rd2", "%rd3") + barrier + copy("%rd5", "%rd4")), stages(2));
    EXPECT_EQ(lines_with("cp.async.cg", text), 1);
    EXPECT_EQ(lines_with("st.shared.v2.b64 [%rd5_shared]", text), 1) << text;
    EXPECT_EQ(lines_with("cp.async.wait_group 1;", text), 1) << text;
    const std::string alone = rewritten(loop(copy("%rd5", "%rd4")), stages(2));
    EXPECT_EQ(lines_with("cp.async.cg", alone), 1);
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", alone), 1) << alone;
}

TEST(AsyncCopies, PredicatesOfThreadsDoNotMatter) {
    // %p2 is the same in every iteration.
    const std::string text =
        rewritten("setp.lt.s32 %p2, %r9, 48;\n" + loop("@%p2 bra $L__2;\n" + copy("%rd2", "%rd3") + "$L__2:\n"), stages(2));
    EXPECT_EQ(lines_with("cp.async.cg", text), 1);
    EXPECT_EQ(lines_with("cp.async.wait_group", text), 1) << text;
    EXPECT_NE(text.find("st.global.b32 [%rd8], %r1;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"), std::string::npos)
        << text;
}

TEST(AsyncCopies, ATrapLeadsNowhere) {
    // Halide checks folded storage at run time, and goes on after the trap in form.
    const std::string check = "setp.lt.s32 %p2, %r9, %r7;\n@%p2 bra $L__2;\ntrap;\nmov.b32 %r8, 0;\n$L__2:\n";
    const std::string text = rewritten(loop(copy("%rd2", "%rd3") + check + barrier + copy("%rd2+4096", "%rd4")), stages(2));
    EXPECT_EQ(lines_with("cp.async.commit_group", text), 1) << text;
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", text), 1) << text;
    EXPECT_EQ(lines_with("bar.sync", text), 1) << text;
    EXPECT_EQ(lines_with("attune_pred", text), 0) << text;
}

TEST(AsyncCopies, TheFirstIterationWaitsForAWarmUp) {
    // In the first iteration %p2 is true, and the tile copied under it is read at once.
    const std::string text = rewritten(
        loop("setp.ne.s32 %p2, %r7, 0;\n@%p2 bra $L__2;\n" + copy("%rd1", "%rd3") + "$L__2:\n" + copy("%rd2", "%rd4")), stages(2));
    EXPECT_EQ(lines_with("cp.async.cg", text), 2);
    EXPECT_NE(text.find("mov.pred %attune_pred_0, -1;\n$L__1:\n"), std::string::npos) << text;
    EXPECT_NE(text.find("cp.async.commit_group;\n@%attune_pred_0 cp.async.wait_group 0;\ncp.async.wait_group 1;\nmov.pred %attune_pred_0, "
                        "0;\nbar.sync 0;\n"),
              std::string::npos)
        << text;
}

TEST(AsyncCopies, TheFirstIterationWaitsForAnInnerLoop) {
    // As a sliding window does: the inner loop runs over two tiles first, then over one.
    const std::string inner = "mov.b64 %rd20, %rd2;\n$L__2:\n" + copy("%rd20", "%rd3") +
                              "add.s64 %rd20, %rd20, 4096;\nadd.s32 %r8, %r8, 1;\nsetp.le.s32 %p2, %r8, %r7;\n@%p2 bra $L__2;\n";
    const std::string text = rewritten(loop(inner), stages(2));
    EXPECT_EQ(lines_with("@%attune_pred_0 cp.async.wait_group 0;", text), 1) << text;
    EXPECT_EQ(lines_with("cp.async.wait_group 1;", text), 1) << text;
    // One that runs over the same places in every iteration is no double buffer.
    std::string fixed = inner;
    fixed.replace(fixed.find("mov.b64 %rd20, %rd2"), 19, "mov.b64 %rd20, %rd5");
    const std::string plain = rewritten(loop(fixed), stages(2));
    EXPECT_EQ(lines_with("cp.async.wait_group", plain), 1);
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", plain), 1) << plain;
}

TEST(AsyncCopies, GroupsBeforeALoopWaitWithItsFirst) {
    const std::string work = read_shared + (barrier + std::string(read_shared));
    const std::string text = rewritten(copy("%rd10", "%rd11") + barrier + loop(copy("%rd2", "%rd3"), work), stages(2));
    EXPECT_EQ(lines_with("cp.async.commit_group", text), 2);
    EXPECT_EQ(lines_with("cp.async.wait_group", text), 1) << text;
    // With two groups left unfinished by the loop, or something read before its first barrier, they are waited for at once.
    EXPECT_EQ(
        lines_with("cp.async.wait_group 0;", rewritten(copy("%rd10", "%rd11") + barrier + loop(copy("%rd2", "%rd3"), work), stages(3))), 1);
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", rewritten(copy("%rd10", "%rd11") + barrier + loop(copy("%rd2", "%rd3")), stages(2))), 2);
    // The first iteration of a loop with a warm-up waits for everything, so for what was before it.
    const std::string warm_up = "setp.ne.s32 %p2, %r7, 0;\n@%p2 bra $L__2;\n" + copy("%rd1", "%rd3") + "$L__2:\n" + copy("%rd2", "%rd4");
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", rewritten(copy("%rd10", "%rd11") + barrier + loop(warm_up), stages(3))), 1);
    const std::string early = copy("%rd10", "%rd11") + barrier + read_shared + loop(barrier + copy("%rd2", "%rd3"));
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", rewritten(early, stages(2))), 1);
}

TEST(AsyncCopies, FinishBeforeWhatFollowsALoop) {
    // After the loop another tile takes the place: the barrier in front of it waits for everything.
    const std::string text =
        rewritten(loop(copy("%rd2", "%rd3")) + barrier + "st.shared.b32 [%rd9], %r2;\n" + barrier + read_shared, stages(3));
    EXPECT_EQ(lines_with("cp.async.wait_group 1;", text), 1);
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", text), 1) << text;
    // Without a barrier in front of it nothing may stay in flight.
    const std::string bare = rewritten(loop(copy("%rd2", "%rd3")) + "st.shared.b32 [%rd9], %r2;\n" + barrier + read_shared, stages(3));
    EXPECT_EQ(lines_with("cp.async.wait_group 1;", bare), 0);
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", bare), 1) << bare;
}

TEST(AsyncCopies, NothingStaysInFlightAroundAnOuterLoop) {
    // The inner loop is entered again with groups left over, and copies to the same places.
    const std::string text =
        rewritten("$L__0:\n" + loop(copy("%rd2", "%rd3")) + "setp.ne.s32 %p3, %r5, %r4;\n@%p3 bra $L__0;\n", stages(3));
    EXPECT_EQ(lines_with("cp.async.wait_group 0;", text), 1) << text;
    EXPECT_EQ(lines_with("cp.async.wait_group 1;", text), 0);
}

TEST(AsyncCopies, RefuseBarriersOfSomeThreads) {
    expect_refused(copy("%rd1", "%rd3") + "bar.sync 1, 64;\n", {"a barrier that is not of all threads", "bar.sync 1, 64;"});
}

} // namespace
} // namespace attune::ptx::async_copies_test
