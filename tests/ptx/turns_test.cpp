// Warpgroups multiply one after another.
#include "snippets.h"

namespace attune::ptx::turns_test {
namespace {

std::string product(const std::string &a) {
    return "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r20, %r21, %r22, %r23}, " + a +
           ", %rd1, 0, 1, 1, " + (a[0] == '{' ? "" : "0, ") + "0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
}

RewriteOptions with_threads(int threads) {
    RewriteOptions options;
    options.arch = "sm_90a", options.threads["k"] = threads;
    return options;
}

TEST(Turns, AreTakenByTwoWarpgroups) {
    const std::string text = rewritten(product("%rd2"), with_threads(256));
    EXPECT_NE(text.find("@%attune_pred_1 bar.sync 1, 256;\nwgmma.fence.sync.aligned;\nwgmma.mma_async"), std::string::npos) << text;
    EXPECT_NE(text.find("wgmma.commit_group.sync.aligned;\n@%attune_pred_0 bar.arrive 1, 256;\nwgmma.wait_group"), std::string::npos)
        << text;
    EXPECT_NE(
        text.find("shr.u32 %attune_b32_0, %attune_b32_0, 7;\nsetp.eq.u32 %attune_pred_0, %attune_b32_0, 0;\nsetp.eq.u32 %attune_pred_1, "
                  "%attune_b32_0, 1;\n"),
        std::string::npos);
}

TEST(Turns, AreTakenByThree) {
    const std::string text = rewritten(product("%rd2"), with_threads(384));
    EXPECT_NE(text.find("@%attune_pred_1 bar.sync 1, 256;\n@%attune_pred_2 bar.sync 2, 256;\nwgmma.fence"), std::string::npos) << text;
    EXPECT_NE(text.find("@%attune_pred_0 bar.arrive 1, 256;\n@%attune_pred_1 bar.arrive 2, 256;\nwgmma.wait"), std::string::npos) << text;
}

TEST(Turns, AreForProductsOfSharedMatricesOfSeveralWarpgroups) {
    EXPECT_EQ(lines_with("bar.", rewritten(product("{%r1, %r2, %r3, %r4}"), with_threads(256))), 0);
    EXPECT_EQ(lines_with("bar.", rewritten(product("%rd2"), with_threads(128))), 0);
    EXPECT_EQ(lines_with("bar.", rewritten(product("%rd2"))), 0);
    const std::string both = rewritten(product("{%r1, %r2, %r3, %r4}") + product("%rd2"), with_threads(256));
    EXPECT_LT(both.find("wgmma.wait_group"), both.find("bar.sync 1"));
}

TEST(Turns, NeedABarrierInTheLoop) {
    const std::string begin = "$L__1:\n", end = "add.s32 %r7, %r7, 1;\nsetp.ne.s32 %p1, %r7, 9;\n@%p1 bra $L__1;\n";
    expect_refused(begin + product("%rd2") + end, {"in a loop that has no barrier of all threads"}, with_threads(256));
    EXPECT_EQ(lines_with("bar.arrive", rewritten(begin + product("%rd2") + "bar.sync 0;\n" + end, with_threads(256))), 1);
}

} // namespace
} // namespace attune::ptx::turns_test
