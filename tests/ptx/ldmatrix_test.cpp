// Fragments from shared memory by ldmatrix.
#include "snippets.h"

namespace attune::ptx::ldmatrix_test {
namespace {

std::string ldmatrix(const std::string &word, const char *function = "warp_ldmatrix_x4") {
    std::string text;
    for (int r = 0; r < 4; ++r)
        text += call("%r1" + std::to_string(r), function, {std::to_string(r), word});
    return text;
}

TEST(Ldmatrix, TakesTheAddressOfItsWord) {
    const std::string text = rewritten("ld.shared.b32 %r1, [%rd1+64];\n" + ldmatrix("%r1"));
    EXPECT_NE(text.find("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%rd1_shared+64];\n"), std::string::npos)
        << text;
    EXPECT_EQ(lines_with("ld.shared", text), 0);
}

TEST(Ldmatrix, Transposes) {
    const std::string text = rewritten("ld.shared.b32 %r1, [256];\n" + ldmatrix("%r1", "warp_ldmatrix_x4_trans"));
    EXPECT_NE(text.find("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r10, %r11, %r12, %r13}, [%attune_shared+256];\n"),
              std::string::npos);
}

TEST(Ldmatrix, KeepsAWordThatIsReadElsewhere) {
    EXPECT_EQ(lines_with("ld.shared.b32 %r1", rewritten("ld.shared.b32 %r1, [%rd1];\n" + ldmatrix("%r1") + "st.global.b32 [%rd2], %r1;\n")),
              1);
}

TEST(Ldmatrix, Refuses) {
    const std::string load = "ld.shared.b32 %r1, [%rd1];\n";
    expect_refused("ld.global.b32 %r1, [%rd1];\n" + ldmatrix("%r1"), {"argument %r1 is not a word loaded from shared memory"});
    expect_refused(ldmatrix("7"), {"argument 7 is not a word loaded from shared memory"});
    expect_refused(load + "$L__1:\n" + ldmatrix("%r1"), {"is not a word loaded from shared memory"});
    expect_refused(load + "bar.sync 0;\n" + ldmatrix("%r1"), {"shared memory may change", "bar.sync 0;"});
    expect_refused(load + "st.shared.b32 [%rd2], %r2;\n" + ldmatrix("%r1"), {"shared memory may change"});
    expect_refused(load + "add.s64 %rd1, %rd1, 4;\n" + ldmatrix("%r1"), {"operand %rd1 changes inside a family"});
    std::string busy = ldmatrix("%r1");
    busy.insert(busy.find("\t{", 10), "mov.b32 %r50, %r12;\n");
    expect_refused(load + busy, {"register %r12 of an ldmatrix is busy"});
    expect_refused(load + call("%r10", "warp_ldmatrix_x4", {"0", "%r1"}), {"incomplete family"});
}

} // namespace
} // namespace attune::ptx::ldmatrix_test
