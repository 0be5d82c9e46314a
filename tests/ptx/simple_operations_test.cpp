// Warp operations that one call stands for.
#include "snippets.h"

namespace attune::ptx::simple_operations_test {
namespace {

struct Case {
    const char *name;
    int arguments;
    const char *expected;
};

class SimpleOperation : public testing::TestWithParam<Case> {};

TEST_P(SimpleOperation, BecomesItsInstruction) {
    const Case &c = GetParam();
    std::vector<std::string> arguments;
    for (int i = 0; i < c.arguments; ++i)
        arguments.push_back("%r" + std::to_string(i + 1));
    EXPECT_EQ(rewritten(call("%r9", c.name, arguments)), std::string(c.expected) + "\nret;\n");
}

INSTANTIATE_TEST_SUITE_P(
    All, SimpleOperation,
    testing::Values(Case{"warp_shfl_bfly_f32", 2, "shfl.sync.bfly.b32 %r9, %r1, %r2, 31, -1;"},
                    Case{"warp_cvt_bf16x2", 2, "cvt.rn.bf16x2.f32 %r9, %r2, %r1;"},
                    Case{"warp_cvt_f16x2", 2, "cvt.rn.f16x2.f32 %r9, %r2, %r1;"}, Case{"warp_max", 2, "max.NaN.f32 %r9, %r1, %r2;"},
                    Case{"warp_larger", 2, "max.f32 %r9, %r1, %r2;"},
                    Case{"warp_exceeds", 2, "setp.gtu.f32 %attune_pred_0, %r1, %r2;\nselp.b32 %r9, 1, 0, %attune_pred_0;"},
                    Case{"warp_ex2", 1, "ex2.approx.ftz.f32 %r9, %r1;"}, Case{"warp_rcp", 1, "rcp.approx.ftz.f32 %r9, %r1;"},
                    Case{"warp_lg2", 1, "lg2.approx.ftz.f32 %r9, %r1;"},
                    Case{"warp_select_f32", 3, "setp.ne.s32 %attune_pred_0, %r1, 0;\nselp.f32 %r9, %r2, %r3, %attune_pred_0;"},
                    Case{"warp_select_u32", 3, "setp.ne.s32 %attune_pred_0, %r1, 0;\nselp.b32 %r9, %r2, %r3, %attune_pred_0;"},
                    Case{"warp_fma", 3, "fma.rn.f32 %r9, %r1, %r2, %r3;"}, Case{"warp_add", 2, "add.rn.f32 %r9, %r1, %r2;"},
                    Case{"warp_sub", 2, "sub.rn.f32 %r9, %r1, %r2;"}, Case{"warp_mul", 2, "mul.rn.f32 %r9, %r1, %r2;"},
                    Case{"warp_equal", 2, "setp.eq.f32 %attune_pred_0, %r1, %r2;\nselp.b32 %r9, 1, 0, %attune_pred_0;"},
                    Case{"warp_opaque", 1, "mov.b32 %r9, %r1;"}, Case{"warp_fma_bf16x2", 3, "fma.rn.bf16x2 %r9, %r1, %r2, %r3;"},
                    Case{"warp_fma_f16x2", 3, "fma.rn.f16x2 %r9, %r1, %r2, %r3;"}, Case{"warp_xor", 2, "xor.b32 %r9, %r1, %r2;"},
                    Case{"warp_any", 1,
                         "setp.ne.s32 %attune_pred_0, %r1, 0;\nvote.sync.any.pred %attune_pred_1, %attune_pred_0, -1;\n"
                         "selp.b32 %r9, 1, 0, %attune_pred_1;"}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(SimpleOperations, LoadConstantsOnceAtTheStart) {
    EXPECT_EQ(rewritten(call("%r9", "warp_max", {"%r1", "0f3F800000"}) + call("%r8", "warp_max", {"0f3F800000", "%r9"})),
              "mov.b32 %attune_b32_0, 0f3F800000;\nmax.NaN.f32 %r9, %r1, %attune_b32_0;\nmax.NaN.f32 %r8, %attune_b32_0, %r9;\nret;\n");
}

TEST(SimpleOperations, RefuseUnknownFunctionsAndCounts) {
    expect_refused(call("%r9", "warp_magic", {"%r1"}), {"unknown warp operation warp_magic", "call warp_magic(%r1) -> %r9", "PTX line"});
    expect_refused(call("%r9", "expf", {"%r1"}), {"unknown function expf"});
    expect_refused(call("%r9", "warp_max", {"%r1"}), {"warp_max takes 2 arguments and returns a value; here it has 1"});
}

} // namespace
} // namespace attune::ptx::simple_operations_test
