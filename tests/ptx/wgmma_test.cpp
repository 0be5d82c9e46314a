// Chains of families become wgmma.
#include "snippets.h"

namespace attune::ptx {
namespace {

/** Four products of a 64 x 8 tile; sums %r<sum>.. = %r<addend>.. + product. */
std::string wgmma(int sum, int addend, const std::string &a, const std::string &b) {
    std::string text;
    for (int r = 0; r < 4; ++r) {
        const std::string result = "%r" + std::to_string(100 + sum + r);
        text += call(result, "warp_wgmma_m64n8k16_bf16", {std::to_string(r), a, b});
        text += "add.f32 %r" + std::to_string(sum + r) + ", %r" + std::to_string(addend + r) + ", " + result + ";\n";
    }
    return text;
}

const char *const loads = "ld.shared.b32 %r1, [%rd1];\nld.shared.b32 %r2, [%rd2+32];\n";

TEST(Wgmma, JoinsAChain) {
    const std::string text = rewritten(loads + wgmma(20, 10, "%r1", "%r2") + wgmma(30, 20, "%r1", "%r2"));
    EXPECT_EQ(lines_with("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r30, %r31, %r32, %r33}, %attune_b64_", text), 2) << text;
    EXPECT_EQ(lines_with("wgmma.fence", text), 1);
    EXPECT_EQ(lines_with("wgmma.wait_group.sync.aligned 0;", text), 1);
    EXPECT_NE(text.find("mov.b32 %r30, %r10;\n"), std::string::npos);
    EXPECT_NE(text.find("add.s64 %attune_b64_1, %rd2_shared, 32;\nand.b64 %attune_b64_1, %attune_b64_1, 262143;\nshr.u64 "),
              std::string::npos)
        << text;
    EXPECT_EQ(lines_with("ld.shared", text), 0);
}

TEST(Wgmma, FencesWhatWasWrittenBeforeABarrier) {
    const std::string text = rewritten("bar.sync 0;\nst.shared.b32 [%rd1], %r3;\nbar.sync 0;\n" + (loads + wgmma(20, 10, "%r1", "%r2")));
    EXPECT_NE(text.find("bar.sync 0;\nst.shared.b32 [%rd1_shared], %r3;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"), std::string::npos)
        << text;
}

TEST(Wgmma, Refuses) {
    expect_refused(loads + wgmma(20, 10, "%r1", "%r2") + wgmma(30, 40, "%r1", "%r2"), {"does not continue the sums"});
    expect_refused(loads + wgmma(20, 10, "%r1", "%r2") + "mov.b32 %r90, %r20;\n" + wgmma(30, 20, "%r1", "%r2"),
                   {"does not continue the sums"});
    expect_refused(call("%r9", "warp_wgmma_m64n12k16_bf16", {"0", "%r1", "%r2"}), {"N must be a multiple of 8"});
    expect_refused(call("%r9", "warp_wgmma_m64n8k16_f64", {"0", "%r1", "%r2"}), {"the type bf16 or f16"});
}

} // namespace
} // namespace attune::ptx
