// Copies move behind products by warpgroup.
#include "snippets.h"

namespace attune::ptx::delay_copies_test {
namespace {

RewriteOptions two_stages() {
    RewriteOptions options;
    options.arch = "sm_90a", options.stages = 2;
    return options;
}

const std::string products = "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r20, %r21, %r22, %r23}, "
                             "%rd11, %rd12, 0, 1, 1, 0, 0;\n"
                             "wgmma.commit_group.sync.aligned;\n";
const std::string wait = "wgmma.wait_group.sync.aligned 0;\n", barrier = "bar.sync 0;\n";
const std::string address = "add.s64 %rd3, %rd4, 32;\n";
const std::string copy = "ld.global.nc.v2.b64 {%rd30, %rd31}, [%rd3];\nst.shared.v2.b64 [%rd2], {%rd30, %rd31};\n";

/** In each iteration `copies`, and but in the first `work`. */
std::string loop(const std::string &copies, const std::string &work) {
    return "mov.b32 %r7, 0;\nmov.b64 %rd1, 0;\n$L__1:\nxor.b64 %rd2, %rd1, 4096;\nsetp.eq.s32 %p2, %r7, 0;\n" + copies + barrier +
           "@%p2 bra $L__2;\n" + work + "$L__2:\n" + barrier +
           "mov.b64 %rd1, %rd2;\nadd.s32 %r7, %r7, 1;\nsetp.ne.s32 %p1, %r7, %r6;\n@%p1 bra $L__1;\n";
}

TEST(DelayCopies, BehindProductsThatAreUnderWay) {
    const std::string text = rewritten(loop(address + copy, products + wait), two_stages());
    const size_t branch = place(text, "@!%p2 bra $attune_products_");
    // Where there are no products, at once.
    EXPECT_LT(branch, place(text, "add.s64 %rd3, %rd4, 32;\ncp.async.cg.shared.global [%rd2_shared], [%rd3], 16;\nbra.uni $L__2;\n"))
        << text;
    const size_t commit = place(text, "wgmma.commit_group");
    EXPECT_LT(commit,
              place(text, "add.s64 %rd3, %rd4, 32;\ncp.async.cg.shared.global [%rd2_shared], [%rd3], 16;\nwgmma.wait_group", commit));
    EXPECT_EQ(lines_with("cp.async.cg", text), 2);
    EXPECT_EQ(lines_with("bar.sync", text), 1);
    EXPECT_LT(place(text, "wgmma.wait_group"), place(text, "cp.async.commit_group"));
}

TEST(DelayCopies, ButNotWhatOthersRead) {
    // The address is stored, too.
    const std::string text = rewritten(loop(address + copy, "st.global.b64 [%rd8], %rd3;\n" + products + wait), two_stages());
    EXPECT_EQ(lines_with("cp.async.cg", text), 1) << text; // what may be stored to may be what is copied
    const std::string read = rewritten(loop(address + copy, "add.s64 %rd11, %rd3, 64;\n" + products + wait), two_stages());
    EXPECT_EQ(lines_with("add.s64 %rd3, %rd4, 32;", read), 1) << read;
    EXPECT_LT(place(read, "add.s64 %rd3, %rd4, 32;"), place(read, "@!%p2 bra"));
    EXPECT_EQ(lines_with("cp.async.cg", read), 2) << read;
}

TEST(DelayCopies, OnTheOtherSideOfABranch) {
    std::string inverse = loop(address + copy, products + wait);
    inverse.replace(inverse.find("@%p2"), 4, "@!%p2");
    EXPECT_EQ(lines_with("@%p2 bra $attune_products_", rewritten(inverse, two_stages())), 1);
}

TEST(DelayCopies, StayWhereTheyCannotMove) {
    const std::string second_way = "setp.eq.s32 %p3, %r7, 3;\n@%p3 bra $L__5;\n";
    const std::string others[] = {
        loop(address + copy, "add.s64 %rd4, %rd4, 8;\n" + products + wait),              // what the address is made of changes
        loop("mov.b64 %rd3, %rd4;\n@%p3 mov.b64 %rd3, %rd5;\n" + copy, products + wait), // one that can't move writes it, too
        loop(address + copy, "add.f32 %r1, %r2, %r3;\n"),                                // no products
        loop(address + copy, "@%p3 bra $L__2;\n" + products + wait),                     // another way past them
        loop(address + copy, "$L__5:\n" + products + wait + second_way),                 // another way to them
    };
    for (const std::string &text : others) {
        const std::string after = rewritten(text, two_stages());
        EXPECT_EQ(lines_with("cp.async.cg", after), 1) << after;
        EXPECT_EQ(lines_with("attune_products", after), 0) << after;
    }
    RewriteOptions options = two_stages();
    options.stages = 1;
    EXPECT_EQ(lines_with("cp.async.cg", rewritten(loop(address + copy, products + wait), options)), 1);
    options = two_stages();
    options.blocks_per_sm = 2; // others multiply meanwhile
    EXPECT_EQ(lines_with("cp.async.cg", rewritten(loop(address + copy, products + wait), options)), 1);
}

} // namespace
} // namespace attune::ptx::delay_copies_test
