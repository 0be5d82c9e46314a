// Loads of matrices, next to where they are used.
#include "snippets.h"

namespace attune::ptx::sink_loads_test {
namespace {

/** A load of four registers from %r<first> on. */
std::string load(int first, const std::string &word) {
    std::string text;
    for (int r = 0; r < 4; ++r)
        text += call("%r" + std::to_string(first + r), "warp_ldmatrix_x4", {std::to_string(r), word});
    return text;
}

const std::string loads = "ld.shared.b32 %r1, [%rd1];\n" + load(10, "%r1");
const std::string branch = "@%p1 bra $L__2;\n$L__1:\n", other = "bra.uni $L__3;\n$L__2:\n", end = "$L__3:\n";

/** Whether the load stands behind the label. */
bool behind(const std::string &label, const std::string &text) {
    const size_t at = text.find(label + ":");
    return text.find("ldmatrix", at) != std::string::npos;
}

TEST(SinkLoads, GoToTheirOnlyReader) {
    const std::string text = rewritten(loads + branch + "st.global.b32 [%rd2], %r10;\n" + other + end);
    EXPECT_EQ(lines_with("ldmatrix", text), 1);
    EXPECT_TRUE(behind("$L__1", text)) << text;
}

TEST(SinkLoads, GoToBothSidesOfABranch) {
    const std::string text = rewritten(loads + branch + "st.global.b32 [%rd2], %r10;\n" + other + "st.global.b32 [%rd2], %r11;\n" + end);
    EXPECT_EQ(lines_with("ldmatrix", text), 2);
    EXPECT_TRUE(behind("$L__2", text)) << text;
}

TEST(SinkLoads, StayWhereTheyAreUsedAtOnce) {
    const std::string text = rewritten(loads + "st.global.b32 [%rd2], %r12;\n" + branch + "st.global.b32 [%rd2], %r10;\n" + other + end);
    EXPECT_FALSE(behind("$L__1", text)) << text;
}

TEST(SinkLoads, StayBeforeWhatChangesMemoryOrTheirAddress) {
    for (const char *between : {"bar.sync 0;\n", "st.shared.b32 [%rd3], %r5;\n", "add.s64 %rd1, %rd1, 64;\n"}) {
        const std::string text = rewritten(loads + branch + between + "st.global.b32 [%rd2], %r10;\n" + other + end);
        EXPECT_FALSE(behind("$L__1", text)) << between << text;
    }
}

TEST(SinkLoads, GoPastABranchThatLeavesThemAlone) {
    const std::string use = "$L__3:\nst.global.b32 [%rd2], %r10;\n";
    EXPECT_TRUE(behind("$L__3", rewritten(loads + branch + other + use)));
    for (const char *one_way : {"bar.sync 0;\n", "add.s64 %rd1, %rd1, 64;\n", "st.global.b32 [%rd2], %r11;\n"}) {
        const std::string text = rewritten(loads + branch + one_way + other + use);
        EXPECT_FALSE(behind("$L__1", text)) << one_way << text;
    }
}

TEST(SinkLoads, StayBeforeALoop) {
    const std::string text = rewritten(loads + "$L__1:\nst.global.b32 [%rd2], %r10;\n@%p1 bra $L__1;\n");
    EXPECT_FALSE(behind("$L__1", text)) << text;
}

} // namespace
} // namespace attune::ptx::sink_loads_test
