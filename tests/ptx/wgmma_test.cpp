// Chains of families become wgmma.
#include "snippets.h"

namespace attune::ptx::wgmma_test {
namespace {

std::string number(const char *prefix, int n) { return prefix + std::to_string(n); }

/** The four calls of a 64 x 8 tile, each followed by addition(element, result). */
template <typename Addition>
std::string family(const std::string &function, const std::vector<std::string> &arguments, const Addition &add) {
    std::string text;
    static int results = 100; // each its own
    for (int r = 0; r < 4; ++r) {
        const std::string result = number("%r", results++);
        std::vector<std::string> all = {std::to_string(r)};
        all.insert(all.end(), arguments.begin(), arguments.end());
        text += call(result, function, all) + add(r, result);
    }
    if (results > 190) results = 100;
    return text;
}

/** %r<sum>.. = %r<addend>.. + a product of matrices in shared memory, at words a and b. */
std::string both_shared(int sum, int addend, const std::string &a, const std::string &b) {
    return family("warp_wgmma_ss_m64n8k16_bf16", {a, b, "128"}, [&](int r, const std::string &result) {
        return "add.f32 " + number("%r", sum + r) + ", " + number("%r", addend + r) + ", " + result + ";\n";
    });
}

/** The same with a in %r3 to %r6. */
std::string left_in_registers(int sum, int addend, const std::string &b, const std::string &swizzle = "64",
                              const std::string &leading = "4096") {
    return family("warp_wgmma_rs_m64n8k16_f16", {"%r3", "%r4", "%r5", "%r6", b, swizzle, leading}, [&](int r, const std::string &result) {
        return "add.f32 " + number("%r", sum + r) + ", " + number("%r", addend + r) + ", " + result + ";\n";
    });
}

const char *const loads = "ld.shared.b32 %r1, [%rd1];\nld.shared.b32 %r2, [%rd2+32];\n";

TEST(Wgmma, JoinsAChain) {
    const std::string text = rewritten(loads + both_shared(20, 10, "%r1", "%r2") + both_shared(30, 20, "%r1", "%r2"));
    EXPECT_EQ(lines_with("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r30, %r31, %r32, %r33}, %attune_b64_0, %attune_b64_2, "
                         "1, 1, 1, 0, 0;",
                         text),
              1)
        << text;
    EXPECT_EQ(lines_with("wgmma.mma_async", text), 2);
    EXPECT_EQ(lines_with("wgmma.fence", text), 1);
    EXPECT_EQ(lines_with("wgmma.wait_group.sync.aligned 0;", text), 1);
    EXPECT_NE(text.find("mov.b32 %r30, %r10;\n"), std::string::npos);
    EXPECT_EQ(lines_with("ld.shared", text), 0);
}

TEST(Wgmma, DescribesMatrices) {
    // 128 bytes of swizzle, 1024 bytes from 8 rows to the next; the second address is on the other's register, 32 bytes on.
    const std::string text = rewritten("ld.shared.b32 %r1, [%rd1];\nld.shared.b32 %r2, [%rd1+32];\n" + both_shared(20, 10, "%r1", "%r2"));
    EXPECT_NE(text.find("add.s64 %attune_b64_0, %rd1_shared, 0;\nand.b64 %attune_b64_0, %attune_b64_0, 262143;\n"
                        "shr.u64 %attune_b64_0, %attune_b64_0, 4;\nor.b64 %attune_b64_0, %attune_b64_0, 4611686293305360384;\n"
                        "add.s64 %attune_b64_1, %attune_b64_0, 2;\n"),
              std::string::npos)
        << text;
    // 64 bytes and 512, and 4096 from column to column: 2 << 62 | 32 << 32 | 256 << 16.
    const std::string other = rewritten("ld.shared.b32 %r1, [%rd1];\n" + left_in_registers(20, 10, "%r1"));
    EXPECT_EQ(lines_with("or.b64 %attune_b64_0, %attune_b64_0, -9223371899399045120;", other), 1) << other;
}

TEST(Wgmma, TakesTheLeftFactorFromRegisters) {
    const std::string text = rewritten(loads + left_in_registers(20, 10, "%r1") + left_in_registers(30, 20, "%r2"));
    EXPECT_EQ(lines_with("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r30, %r31, %r32, %r33}, {%r3, %r4, %r5, %r6}, "
                         "%attune_b64_0, 1, 1, 1, 1;",
                         text),
              1)
        << text;
    EXPECT_EQ(lines_with("wgmma.mma_async", text), 2);
}

TEST(Wgmma, OverwritesWhereItStartsFromZero) {
    const auto add_to_zero = [](int r, const std::string &result) {
        return "add.f32 " + number("%r", 20 + r) + ", " + result + ", 0f00000000;\n";
    };
    const std::string text =
        rewritten(loads + family("warp_wgmma_ss_m64n8k16_bf16", {"%r1", "%r2", "128"}, add_to_zero) + both_shared(30, 20, "%r1", "%r2"));
    EXPECT_EQ(lines_with("%attune_b64_0, %attune_b64_2, 0, 1, 1, 0, 0;", text), 1) << text;
    EXPECT_EQ(lines_with("%attune_b64_0, %attune_b64_3, 1, 1, 1, 0, 0;", text), 1);
    EXPECT_EQ(lines_with("mov.b32", text), 0);
}

TEST(Wgmma, StartsFromAProduct) {
    const auto contracted = [](int r, const std::string &result) {
        const std::string sum = number("%r", 20 + r);
        return "fma.rn.f32 " + sum + ", " + sum + ", %r9, " + result + ";\n";
    };
    const std::string text = rewritten(loads + family("warp_wgmma_ss_m64n8k16_bf16", {"%r1", "%r2", "128"}, contracted));
    EXPECT_LT(place(text, "mul.rn.f32 %r20, %r20, %r9;"), place(text, "wgmma.fence"));
    EXPECT_EQ(lines_with("fma", text), 0);
}

TEST(Wgmma, LetsWhatStandsBetweenRunMeanwhile) {
    const std::string text =
        rewritten(loads + both_shared(20, 10, "%r1", "%r2") + "add.f32 %r8, %r9, %r9;\n" + both_shared(30, 20, "%r1", "%r2"));
    EXPECT_LT(place(text, "wgmma.commit_group"), place(text, "add.f32 %r8"));
    EXPECT_LT(place(text, "add.f32 %r8"), place(text, "wgmma.wait_group"));
}

TEST(Wgmma, FencesWhatWasWrittenBeforeABarrier) {
    const std::string text =
        rewritten("bar.sync 0;\nst.shared.b32 [%rd1], %r3;\nbar.sync 0;\n" + (loads + both_shared(20, 10, "%r1", "%r2")));
    EXPECT_NE(text.find("bar.sync 0;\nst.shared.b32 [%rd1_shared], %r3;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"), std::string::npos)
        << text;
}

TEST(Wgmma, RefusesChainsThatDoNotContinue) {
    const std::string first = loads + both_shared(20, 10, "%r1", "%r2");
    expect_refused(first + both_shared(30, 40, "%r1", "%r2"), {"does not continue the sums"});
    expect_refused(first + "mov.b32 %r90, %r20;\n" + both_shared(30, 20, "%r1", "%r2"), {"does not continue the sums"});
    expect_refused(loads + both_shared(20, 21, "%r1", "%r2"), {"permuted"});
}

TEST(Wgmma, RefusesWhatWouldChangeInside) {
    const std::string first = loads + both_shared(20, 10, "%r1", "%r2"), second = both_shared(30, 20, "%r1", "%r2");
    expect_refused(first + "add.s64 %rd1, %rd1, 64;\n" + second, {"changes"});
    expect_refused(first + "add.f32 %r10, %r9, %r9;\n" + second, {"busy inside its chain"});
    // The second product's words are loaded again.
    const std::string again = "ld.shared.b32 %r7, [%rd1];\nld.shared.b32 %r8, [%rd2];\n" + both_shared(30, 20, "%r7", "%r8");
    expect_refused(first + "bar.sync 0;\n" + again, {"shared memory may change inside a chain"});
    expect_refused(first + "st.shared.b32 [%rd3], %r9;\n" + again, {"shared memory may change inside a chain"});
    const std::string left = loads + left_in_registers(20, 10, "%r1");
    expect_refused(left + "mov.b32 %r4, %r9;\n" + left_in_registers(30, 20, "%r2"), {"operand %r4 changes"});
}

TEST(Wgmma, RefusesUnknownForms) {
    expect_refused(call("%r9", "warp_wgmma_ss_m64n12k16_bf16", {"0", "%r1", "%r2", "128"}), {"N a multiple of 8"});
    expect_refused(call("%r9", "warp_wgmma_ss_m64n8k16_f64", {"0", "%r1", "%r2", "128"}), {"the type bf16 or f16"});
    expect_refused(call("%r9", "warp_wgmma_m64n8k16_bf16", {"0", "%r1", "%r2", "128"}), {"operands must be ss or rs"});
    expect_refused(loads + left_in_registers(20, 10, "%r1", "48"), {"a matrix's lines have 48 bytes; they must have 128, 64 or 32"});
    expect_refused(loads + left_in_registers(20, 10, "%r1", "%r9"), {"argument %r9 must be a number"});
    expect_refused(loads + left_in_registers(20, 10, "%r1", "128", "40"), {"argument 40 must be a number, a multiple of 16"});
    expect_refused(loads + family("warp_wgmma_ss_m64n8k16_bf16", {"%r1", "%r2"}, [](int, const std::string &) { return std::string(); }),
                   {"takes an element number and at least 3 arguments"});
    expect_refused(both_shared(20, 10, "%r1", "%r2"), {"is not a word loaded from shared memory"});
}

} // namespace
} // namespace attune::ptx::wgmma_test
