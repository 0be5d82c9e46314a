// Four calls and their sums become one mma.sync.
#include "snippets.h"

namespace attune::ptx::mma_test {
namespace {

constexpr const char *instruction = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r20, %r21, %r22, %r23}, {%r1, %r2, %r3, %r4}, "
                                    "{%r5, %r6}, {%r10, %r11, %r12, %r13};\n";

std::vector<std::string> arguments(int r) { return {std::to_string(r), "%r1", "%r2", "%r3", "%r4", "%r5", "%r6"}; }
std::string product(int r) { return call("%r17" + std::to_string(r), "warp_mma_m16n8k16_bf16", arguments(r)); }

TEST(Mma, MergesAFamily) { EXPECT_EQ(rewritten(mma(20, 10)), std::string(instruction) + "ret;\n"); }

TEST(Mma, MergesFamiliesInTurn) {
    const std::string text = rewritten(mma(20, 10) + mma(30, 20, "warp_mma_m16n8k16_f16"));
    EXPECT_EQ(lines_with("mma.sync", text), 2);
    EXPECT_NE(text.find("f32.f16.f16.f32 {%r30, %r31, %r32, %r33}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r20, %r21, %r22, %r23};"),
              std::string::npos);
}

TEST(Mma, IgnoresFurtherArguments) {
    std::string text;
    for (int r = 0; r < 4; ++r) {
        std::vector<std::string> all = arguments(r);
        all.push_back("%r99");
        const std::string result = "%r17" + std::to_string(r), sum = "%r2" + std::to_string(r), addend = "%r1" + std::to_string(r);
        text += call(result, "warp_mma_m16n8k16_bf16_ahead", all) + "add.rn.f32 " + sum + ", " + addend + ", " + result + ";\n";
    }
    EXPECT_EQ(rewritten(text), std::string(instruction) + "ret;\n");
}

TEST(Mma, KeepsWhatStandsBetween) {
    std::string text = mma(20, 10);
    text.insert(text.find("\t{", 10), "\tmul.f32 %r100, %r101, %r10;\n");
    EXPECT_EQ(rewritten(text), "mul.f32 %r100, %r101, %r10;\n" + std::string(instruction) + "ret;\n");
}

TEST(Mma, TakesContractedSumsApart) {
    std::string text;
    for (int r = 0; r < 4; ++r) {
        const std::string i = std::to_string(r);
        text += product(r) + "fma.rn.f32 %r2" + i + ", %r1" + i + ", %r50, %r17" + i + ";\n";
    }
    EXPECT_EQ(rewritten(text),
              "mul.rn.f32 %attune_b32_0, %r10, %r50;\nmul.rn.f32 %attune_b32_1, %r11, %r50;\nmul.rn.f32 %attune_b32_2, %r12, %r50;\n"
              "mul.rn.f32 %attune_b32_3, %r13, %r50;\nmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r20, %r21, %r22, %r23}, "
              "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%attune_b32_0, %attune_b32_1, %attune_b32_2, %attune_b32_3};\nret;\n");
}

TEST(Mma, CompletesDeadAccumulators) {
    std::string text;
    for (int r = 0; r < 4; ++r)
        text += product(r) +
                (r < 2 ? "add.f32 %r2" + std::to_string(r) + ", %r1" + std::to_string(r) + ", %r17" + std::to_string(r) + ";\n" : "");
    EXPECT_NE(
        rewritten(text).find("{%r20, %r21, %r172, %r173}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r10, %r11, %attune_b32_0, %attune_b32_0};"),
        std::string::npos);
}

TEST(Mma, LoadsConstantsIntoRegisters) {
    std::string text;
    for (int r = 0; r < 4; ++r) {
        const std::string result = "%r17" + std::to_string(r);
        text += call(result, "warp_mma_m16n8k16_f16", {std::to_string(r), "%r1", "%r2", "%r3", "%r4", "1065369472", "1065369472"});
        text += "add.f32 %r2" + std::to_string(r) + ", " + result + ", 0f00000000;\n";
    }
    const std::string all = rewritten(text);
    EXPECT_EQ(lines_with("mov.b32 %attune_b32_", all), 2);
    EXPECT_NE(all.find("{%attune_b32_1, %attune_b32_1}, {%attune_b32_0, %attune_b32_0, %attune_b32_0, %attune_b32_0};"), std::string::npos)
        << all;
}

TEST(Mma, RefusesIncompleteFamilies) {
    std::string three;
    for (int r = 0; r < 3; ++r)
        three += product(r) + "add.f32 %r20, %r10, %r17" + std::to_string(r) + ";\n";
    expect_refused(three, {"incomplete family: element 3 of 4 is missing", "warp_mma_m16n8k16_bf16(0, %r1"});
    std::string split = mma(20, 10);
    split.insert(split.find("add.f32 \t%r22"), "$L__1:\n\t");
    expect_refused(split, {"incomplete family"});
    expect_refused(product(0) + product(0), {"element 0 comes twice"});
    expect_refused(call("%r9", "warp_mma_m16n8k16_bf16", arguments(4)), {"must be below 4"});
    expect_refused(call("%r9", "warp_mma_m16n8k16_bf16", {"%r7", "%r1"}), {"the element number is no constant"});
}

TEST(Mma, RefusesOperandsThatChange) {
    for (const char *change : {"add.s32 %r3, %r3, 1;", "add.f32 %r10, %r10, %r10;"}) {
        std::string text = mma(20, 10);
        text.insert(text.find("\t{", text.find("add.f32")), std::string(change) + "\n");
        expect_refused(text, {"changes inside a family", change});
    }
}

TEST(Mma, RefusesSumsThatAreUsedInside) {
    std::string text = mma(20, 10);
    text.insert(text.find("\t{", text.find("add.f32")), "mul.f32 %r100, %r20, %r20;\n");
    expect_refused(text, {"sum %r20 is used inside its family", "mul.f32 %r100"});
    // Element 1 adds to the sum of element 0: it would read the old value.
    std::string chained = mma(20, 10);
    chained.replace(chained.find("%r11"), 4, "%r20");
    expect_refused(chained, {"sum %r20 is used inside its family"});
}

TEST(Mma, RefusesResultsThatAreNotSummed) {
    expect_refused(mma(20, 10) + "mul.f32 %r100, %r170, %r1;\n", {"is not just added to an accumulator"});
    std::string text = mma(20, 10);
    text.replace(text.find("add.f32"), 7, "mul.f32");
    expect_refused(text, {"is not just added to an accumulator", "mul.f32"});
}

} // namespace
} // namespace attune::ptx::mma_test
