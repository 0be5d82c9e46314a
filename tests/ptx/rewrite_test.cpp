// Shared memory's base, the header, several kernels, options.
#include "snippets.h"

namespace attune::ptx::rewrite_test {
namespace {

TEST(SharedBase, MovesAddresses) {
    const std::string text = rewritten("mul.wide.u32 %rd1, %r1, 16;\nst.shared.v2.b32 [%rd1+4352], {%r1, %r2};\nst.shared.b32 [64], %r3;\n"
                                       "atom.shared.add.u32 %r4, [%rd1], 1;\n@%p1 add.s64 %rd1, %rd1, 8;\nld.shared.b32 %r5, [%rd1];\n"
                                       "st.global.b32 [%rd1], %r5;\n");
    EXPECT_EQ(text,
              "mov.u64 %attune_shared, attune_shared;\nmul.wide.u32 %rd1, %r1, 16;\nadd.s64 %rd1_shared, %rd1, %attune_shared;\n"
              "st.shared.v2.b32 [%rd1_shared+4352], {%r1, %r2};\nst.shared.b32 [%attune_shared+64], %r3;\n"
              "atom.shared.add.u32 %r4, [%rd1_shared], 1;\n@%p1 add.s64 %rd1, %rd1, 8;\n"
              "@%p1 add.s64 %rd1_shared, %rd1, %attune_shared;\nld.shared.b32 %r5, [%rd1_shared];\nst.global.b32 [%rd1], %r5;\nret;\n");
}

TEST(SharedBase, IsDeclaredWhereItIsNeeded) {
    const std::string with = rewrite(kernel("st.shared.b32 [0], %r1;"), {});
    EXPECT_EQ(lines_with(".extern .shared .align 1024 .b8 attune_shared[];", with), 1);
    const std::string without = rewrite(kernel("st.global.b32 [%rd1], %r1;\nld.local.b32 %r2, [%rd2];"), {});
    EXPECT_EQ(lines_with("shared", without), 0) << without;
}

TEST(SharedBase, LeavesVariablesAlone) {
    EXPECT_EQ(rewritten(".shared .align 4 .b8 tile[64];\nst.shared.b32 [tile+4], %r1;\n"),
              ".shared .align 4 .b8 tile[64];\nst.shared.b32 [tile+4], %r1;\nret;\n");
}

TEST(SharedBase, RefusesWhatItCannotMove) {
    expect_refused("ld.shared.b32 %r1, [%r2];", {"shared address %r2 is not a register of 64 bits", "ld.shared.b32 %r1"});
    expect_refused("cvta.shared.u64 %rd1, %rd2;", {"generic addresses of shared memory"});
}

TEST(Rewrite, SetsTheHeader) {
    RewriteOptions options;
    options.version = "8.3";
    options.arch = "sm_90a";
    options.threads["k"] = 256;
    options.blocks_per_sm = 2;
    const std::string text = rewrite(kernel(""), options);
    EXPECT_EQ(text.find(".version 8.3\n.target sm_90a\n.address_size 64\n"), 0u);
    EXPECT_NE(text.find(")\n.maxntid 256, 1, 1\n.minnctapersm 2\n{\n"), std::string::npos) << text;
    options.threads_per_sm = 1024;
    EXPECT_EQ(lines_with(".minnctapersm 4", rewrite(kernel(""), options)), 1);
    EXPECT_EQ(lines_with(".maxntid", rewrite(kernel(""), {})), 0);
}

TEST(Rewrite, TakesSeveralKernels) {
    std::string text = kernel(mma(20, 10) + "st.shared.b32 [4], %r20;");
    const std::string second = kernel(call("%r9", "warp_ex2", {"%r1"}));
    text += second.substr(second.find(".visible")).replace(15, 2, " second");
    RewriteOptions options;
    options.threads["second"] = 64;
    const std::string all = rewrite(text, options);
    EXPECT_EQ(lines_with(".visible .entry", all), 2) << all;
    EXPECT_EQ(lines_with("mma.sync", all), 1);
    EXPECT_EQ(lines_with("ex2.approx", all), 1);
    EXPECT_EQ(lines_with(".maxntid 64, 1, 1", all), 1);
    EXPECT_EQ(lines_with("mov.u64 %attune_shared, attune_shared;", all), 1);
}

TEST(Rewrite, DropsDeclarationsOfWhatItReplaced) {
    const std::string text = kernel(call("%r9", "warp_ex2", {"%r1"}));
    const std::string declared = std::string(text).insert(
        text.find(".visible"), ".extern .func  (.param .b32 func_retval0) warp_ex2\n(\n\t.param .b32 warp_ex2_param_0\n)\n;\n");
    EXPECT_EQ(lines_with("warp_", rewrite(declared, {})), 0);
}

const char *const power = ".func (.param .b32 func_retval0) power(\n\t.param .b32 power_param_0\n)\n{\n\t.reg .b32 %r<3>;\n"
                          "\tld.param.b32 %r1, [power_param_0];\n\tst.param.b32 [func_retval0], %r1;\n\tret;\n}\n";

TEST(Rewrite, KeepsTheCompilersFunctions) {
    std::string text = kernel(call("%r9", "power", {"%r1"}));
    text.insert(text.find(".visible"), power);
    const std::string all = rewrite(text, {});
    EXPECT_EQ(lines_with("call.uni (retval0), power, (param0);", all), 1) << all;
    EXPECT_NE(all.find(") power(\n\t.param .b32 power_param_0\n)\n{\n\t.reg .b32 %r<3>;\n"), std::string::npos) << all;
    EXPECT_EQ(lines_with("st.param.b32 [func_retval0], %r1;", all), 1) << all;
    std::string shared = text;
    shared.insert(shared.find("\tst.param"), "\tld.shared.b32 %r2, [64];\n");
    EXPECT_THROW(rewrite(shared, {}), Error);
    std::string unknown = text;
    unknown.insert(unknown.find("\tst.param"), call("%r2", "elsewhere", {"%r1"}));
    EXPECT_THROW(rewrite(unknown, {}), Error);
}

TEST(Rewrite, CopiesPlainlyBeforeSm80) {
    RewriteOptions options;
    options.arch = "sm_75";
    const std::string copy = "ld.global.nc.v2.b64 {%rd5, %rd6}, [%rd3];\nst.shared.v2.b64 [%rd1], {%rd5, %rd6};\nbar.sync 0;\n";
    EXPECT_EQ(lines_with("cp.async", rewrite(kernel(copy), options)), 0);
    EXPECT_EQ(lines_with("cp.async.cg", rewrite(kernel(copy), {})), 1);
}

TEST(Rewrite, NamesTheLine) {
    expect_refused("add.s32 %r1, %r2, %r3;\nfoo.s32 %r1;\n", {"PTX line 13: unknown opcode 'foo.s32':\n    foo.s32 %r1;"});
    expect_refused("add.s32 %r1, %r2, %r3;\nld.shared.b32 %r1, [%r2];\n", {"PTX line 13: "});
}

TEST(Rewrite, ChecksOptions) {
    RewriteOptions options;
    options.stages = 0;
    expect_refused("", {"stages is 0; it must be 1 or more"}, options);
    options.stages = 1;
    options.threads["k"] = 2048;
    expect_refused("", {"kernel k has 2048 threads a block; there must be 1 to 1024"}, options);
    options.threads.clear();
    options.blocks_per_sm = 0;
    expect_refused("", {"blocks_per_sm is 0"}, options);
}

} // namespace
} // namespace attune::ptx::rewrite_test
