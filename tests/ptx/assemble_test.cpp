// ptxas takes what the pass writes; what ptxas prints.
#include <filesystem>

#include "generators/ptx/fatbin.h"
#include "ptxas.h"
#include "snippets.h"

namespace attune::ptx::assemble_test {
namespace {

/** A kernel with everything that the pass writes. */
std::string everything() {
    return "ld.param.b64 %rd3, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 16;\nmov.b32 %r7, 0;\n"
           "ld.global.nc.v2.b64 {%rd50, %rd51}, [%rd3];\nst.shared.v2.b64 [%rd1+8192], {%rd50, %rd51};\nbar.sync 0;\n$L__1:\n"
           "xor.b64 %rd1, %rd1, 4096;\nsetp.ne.s32 %p2, %r7, 0;\n@%p2 bra $L__2;\n"
           "ld.global.nc.v2.b64 {%rd50, %rd51}, [%rd3];\nst.shared.v2.b64 [%rd1], {%rd50, %rd51};\n$L__2:\n"
           "ld.global.nc.v2.b64 {%rd52, %rd53}, [%rd3+16];\nst.shared.v2.b64 [%rd1+2048], {%rd52, %rd53};\nbar.sync 0;\n"
           "ld.shared.b32 %r2, [%rd1];\n" +
           call("%r3", "warp_ldmatrix_x4", {"0", "%r2"}) + call("%r4", "warp_ldmatrix_x4", {"1", "%r2"}) +
           call("%r5", "warp_ldmatrix_x4", {"2", "%r2"}) + call("%r6", "warp_ldmatrix_x4", {"3", "%r2"}) +
           call("%r10", "warp_ex2", {"%r3"}) + call("%r11", "warp_max", {"%r4", "0fFF800000"}) + call("%r12", "warp_any", {"%r5"}) +
           call("%r13", "warp_shfl_bfly_f32", {"0f3F800000", "1"}) + mma(20, 10) + mma(30, 20, "warp_mma_m16n8k16_f16") +
           call("%r40", "warp_cvt_bf16x2", {"0f00000000", "%r30"}) + call("%r41", "warp_cvt_f16x2", {"%r31", "%r32"}) +
           call("%r42", "warp_select_u32", {"%r12", "%r40", "7"}) + call("%r43", "warp_select_f32", {"1", "%r42", "%r41"}) +
           call("%r44", "warp_equal", {"%r43", "0f00000000"}) + call("%r45", "warp_exceeds", {"%r43", "%r33"}) +
           call("%r46", "warp_fma", {"%r43", "%r44", "%r45"}) + call("%r48", "warp_lg2", {"%r46"}) + call("%r49", "warp_rcp", {"%r48"}) +
           call("%r50", "warp_larger", {"%r49", "%r48"}) + call("%r51", "warp_xor", {"%r50", "5"}) +
           call("%r54", "warp_add", {"%r51", "%r50"}) + call("%r55", "warp_sub", {"%r54", "%r50"}) +
           call("%r56", "warp_mul", {"%r55", "%r54"}) + call("%r59", "warp_opaque", {"%r56"}) +
           call("%r60", "warp_fma_bf16x2", {"%r59", "0", "%r56"}) + call("%r58", "warp_fma_f16x2", {"%r60", "0", "%r56"}) +
           "st.global.b32 [%rd3], %r58;\nbar.sync 0;\nadd.s32 %r7, %r7, 1;\nsetp.ne.s32 %p1, %r7, 9;\n@%p1 bra $L__1;\n";
}

TEST(Assemble, PtxasTakesEveryOperation) {
    NEEDS_PTXAS();
    for (int stages : {1, 2, 3}) {
        RewriteOptions rewriting;
        rewriting.stages = stages;
        rewriting.threads["k"] = 128;
        std::vector<KernelFigures> figures;
        const std::string cubin = make_cubin(rewrite(kernel(everything()), rewriting), "sm_80", with_ptxas(), figures);
        EXPECT_EQ(cubin.compare(0, 4, "\177ELF"), 0);
        ASSERT_EQ(figures.size(), 1u);
        EXPECT_EQ(figures[0].kernel, "k");
        EXPECT_EQ(figures[0].arch, "sm_80");
        EXPECT_GT(figures[0].registers, 8);
        EXPECT_EQ(figures[0].spill_stores, 0);
    }
}

TEST(Assemble, PtxasTakesWgmma) {
    NEEDS_PTXAS();
    std::string body = "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 16;\nst.shared.b32 [%rd1], %r1;\nbar.sync 0;\n"
                       "ld.shared.b32 %r1, [%rd1];\nld.shared.b32 %r2, [%rd1+1024];\n";
    const auto add_product = [&](int sum, const std::string &function, const std::vector<std::string> &arguments) {
        for (int r = 0; r < 4; ++r) {
            std::vector<std::string> all = {std::to_string(r)};
            all.insert(all.end(), arguments.begin(), arguments.end());
            const std::string result = "%r" + std::to_string(100 + sum + r),
                              before = sum == 20 ? "0f00000000" : "%r" + std::to_string(10 + r);
            body += call(result, function, all) + "add.f32 %r" + std::to_string(sum + r) + ", " + result + ", " + before + ";\n";
        }
        body += "ld.param.b64 %rd3, [p];\nst.global.v4.b32 [%rd3], {%r" + std::to_string(sum) + ", %r" + std::to_string(sum + 1) + ", %r" +
                std::to_string(sum + 2) + ", %r" + std::to_string(sum + 3) + "};\n";
    };
    add_product(20, "warp_wgmma_ss_m64n8k16_bf16", {"%r1", "%r2", "128"});
    add_product(30, "warp_wgmma_rs_m64n8k16_f16", {"%r20", "%r21", "%r22", "%r23", "%r2", "64", "4096"});
    RewriteOptions rewriting;
    rewriting.arch = "sm_90a";
    std::vector<KernelFigures> figures;
    EXPECT_FALSE(make_cubin(rewrite(kernel(body), rewriting), "sm_90a", with_ptxas(), figures).empty());
}

TEST(Assemble, RefusesWgmmaThatPtxasWaitsFor) {
    NEEDS_PTXAS();
    // The sums are read between a product and the wait for it.
    const std::string body = "mov.u64 %rd1, 0;\nwgmma.fence.sync.aligned;\n"
                             "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r20, %r21, %r22, %r23}, %rd1, %rd1, 0, 1, 1, 0, 0;\n"
                             "wgmma.commit_group.sync.aligned;\nadd.f32 %r20, %r20, %r20;\n"
                             "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r20, %r21, %r22, %r23}, %rd1, %rd1, 1, 1, 1, 0, 0;\n"
                             "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                             "ld.param.b64 %rd3, [p];\nst.global.v4.b32 [%rd3], {%r20, %r21, %r22, %r23};\n";
    RewriteOptions rewriting;
    rewriting.arch = "sm_90a";
    std::vector<KernelFigures> figures;
    try {
        make_cubin(rewrite(kernel(body), rewriting), "sm_90a", with_ptxas(), figures);
        FAIL() << "accepted";
    } catch (const Error &error) {
        EXPECT_NE(std::string(error.what()).find("warpgroup.arrive is injected"), std::string::npos) << error.what();
    }
}

TEST(Assemble, MakesAFatbinAndLeavesNoFiles) {
    NEEDS_PTXAS();
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attune-assemble-test";
    std::filesystem::create_directories(folder);
    const std::string ptx = rewrite(kernel("st.global.b32 [%rd1], %r1;"), {});
    const DeviceCode code = assemble({{ptx, {"sm_80", "sm_90"}, true}}, {ptxas, folder.string()});
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    ASSERT_EQ(code.figures.size(), 2u);
    EXPECT_EQ(code.figures[1].arch, "sm_90");
    EXPECT_EQ(number_at(code.fatbin, 0, 4), 0xBA55ED50u);
    EXPECT_EQ(number_at(code.fatbin, 8, 8) + 16, code.fatbin.size());
    EXPECT_EQ(number_at(code.fatbin, 16, 2), 2u); // a cubin
    EXPECT_EQ(number_at(code.fatbin, 16 + 28, 4), 80u);
    EXPECT_NE(code.fatbin.find(ptx), std::string::npos);
}

TEST(Assemble, ShowsTheLineThatPtxasRefuses) {
    NEEDS_PTXAS();
    std::vector<KernelFigures> figures;
    try {
        make_cubin(kernel("mov.u77 %r1, %tid.x;"), "sm_86", with_ptxas(), figures);
        FAIL() << "accepted";
    } catch (const Error &error) {
        EXPECT_NE(std::string(error.what()).find("for sm_86:\n"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("\n    mov.u77 %r1, %tid.x;\n"), std::string::npos) << error.what();
    }
}

TEST(Assemble, SaysWhatItCannotRun) {
    std::vector<KernelFigures> figures;
    EXPECT_THROW(make_cubin(kernel(""), "sm_80", {"/nowhere/ptxas", testing::TempDir()}, figures), Error);
    EXPECT_THROW(make_cubin(kernel(""), "sm_80", {"ptxas", "/nowhere"}, figures), Error);
}

TEST(Assemble, EmbedsPtxWithoutPtxas) {
    const std::string ptx = rewrite(kernel(""), {});
    const DeviceCode code = assemble({{ptx, {"sm_80"}, false}}, {});
    EXPECT_TRUE(code.figures.empty());
    EXPECT_EQ(code.fatbin, make_fatbin({{Image::Kind::ptx, "sm_80", ptx}}));
}

TEST(PtxasLog, HoldsFigures) {
    const std::vector<KernelFigures> figures =
        parse_figures("ptxas info    : 0 bytes gmem, 40 bytes cmem[4]\n"
                      "ptxas info    : Compiling entry function 'first' for 'sm_80'\n"
                      "ptxas info    : Function properties for first\n"
                      "    512 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
                      "ptxas info    : Used 255 registers, used 1 barriers, 1024 bytes smem, 432 bytes cmem[0], 8 bytes cmem[2]\n"
                      "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
                      "ptxas info    : Function properties for second\n"
                      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                      "ptxas info    : Used 8 registers\n",
                      "sm_80");
    ASSERT_EQ(figures.size(), 2u);
    EXPECT_EQ(figures[0].kernel, "first");
    EXPECT_EQ(figures[0].registers, 255);
    EXPECT_EQ(figures[0].stack_bytes, 512);
    EXPECT_EQ(figures[0].spill_stores, 24);
    EXPECT_EQ(figures[0].spill_loads, 28);
    EXPECT_EQ(figures[0].shared_bytes, 1024);
    EXPECT_EQ(figures[0].constant_bytes, 440);
    EXPECT_EQ(figures[1].kernel, "second");
    EXPECT_EQ(figures[1].registers, 8);
    EXPECT_EQ(figures[1].stack_bytes, 0);
}

TEST(PtxasLog, ErrorsShowTheirLines) {
    EXPECT_EQ(explain_errors("ptxas info : nothing\nptxas x.ptx, line 2; error   : Bad\n", "first\n\tsecond;\n"),
              "ptxas x.ptx, line 2; error   : Bad\n    second;\n");
    EXPECT_EQ(explain_errors("killed", ""), "killed");
}

} // namespace
} // namespace attune::ptx::assemble_test
