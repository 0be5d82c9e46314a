// One test for each bad argument of a plan, and for each error of a textual mask.
#include "error_test.h"
#include "kernels.h"

namespace attune::test::plan_error_test {
namespace {

struct GoodPlan {
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_desc *desc_pointer = &desc;
    attune_kernel kernel = *attune_kernel_at(0); // to spoil

    GoodPlan() { desc.head_dim = 8, kernel = *kernels_of("attention").front(); }
    GoodPlan(const GoodPlan &) = delete;
};
using Good = GoodPlan;
using Bad = BadCall<Good>;

class PlanError : public ::testing::TestWithParam<Bad> {};

TEST(PlanErrorControl, TheGoodPlanIsMade) {
    Good good;
    attune_attention_plan *plan = nullptr;
    EXPECT_EQ(attune_attention_plan_create(&good.desc, &plan), ATTUNE_OK) << attune_error_message();
    EXPECT_NE(attune_attention_plan_kernel(plan), nullptr);
    attune_attention_plan_destroy(plan);
}

TEST_P(PlanError, IsNamedAndNoPlanIsMade) {
    Good call;
    GetParam().spoil(call);
    attune_attention_plan *plan = nullptr;
    expect_error(attune_attention_plan_create(call.desc_pointer, &plan), GetParam().status, GetParam().words);
    EXPECT_EQ(plan, nullptr);
}

const Bad arguments[] = {
    {"NoDesc", [](Good &g) { g.desc_pointer = nullptr; }, {"desc", "NULL"}},
    {"DescOfAnotherSize", [](Good &g) { g.desc.struct_size = 4; }, {"struct_size", "4", std::to_string(sizeof(attune_attention_desc))}},
    {"HeadDimZero", [](Good &g) { g.desc.head_dim = 0; }, {"head_dim", "0", "1"}},
    {"HeadDimNegative", [](Good &g) { g.desc.head_dim = -8; }, {"head_dim", "-8"}},
    {"HeadDimPastInt32", [](Good &g) { g.desc.head_dim = int64_t(1) << 31; }, {"head_dim", "2147483648", "2147483647"}},
    {"ValueDimNegative", [](Good &g) { g.desc.value_dim = -1; }, {"value_dim", "-1"}},
    {"ValueDimPastInt32", [](Good &g) { g.desc.value_dim = int64_t(1) << 40; }, {"value_dim", "1099511627776"}},
    {"DtypeOfIntegers", [](Good &g) { g.desc.dtype = ATTUNE_I32; }, {"dtype", "i32", "f32", "f16", "bf16"}},
    {"DtypeOfNothing", [](Good &g) { g.desc.dtype = static_cast<attune_type>(0); }, {"dtype", "0"}},
    {"DtypeWithoutKernel",
     [](Good &g) { g.desc.dtype = ATTUNE_F16, g.desc.schedule = "reference"; },
     {"f16", "reference", "attention_"},
     ATTUNE_UNSUPPORTED},
    {"ScheduleEmpty", [](Good &g) { g.desc.schedule = ""; }, {"schedule"}},
    {"KernelOfAnotherSize", [](Good &g) { g.kernel.struct_size = 1, g.desc.kernel = &g.kernel; }, {"struct_size", "1"}},
    {"KernelOfAnotherOperation",
     [](Good &g) { g.kernel.operation = "softmax", g.desc.kernel = &g.kernel; },
     {"operation", "softmax", "attention"}},
    {"KernelWithoutCall", [](Good &g) { g.kernel.call = nullptr, g.desc.kernel = &g.kernel; }, {"kernel", "call"}},
    {"KernelOfAnotherWidth", [](Good &g) { g.kernel.head_dim = 64, g.desc.kernel = &g.kernel; }, {"head_dim", "8", "64"}},
    {"KernelOfAnotherValueWidth",
     [](Good &g) { g.kernel.head_dim = 0, g.kernel.value_dim = 96, g.desc.kernel = &g.kernel; },
     {"value_dim", "8", "96"}},
    {"KernelOfAnotherType",
     [](Good &g) { g.kernel.head_dim = g.kernel.value_dim = 0, g.kernel.dtype = ATTUNE_BF16, g.desc.kernel = &g.kernel; },
     {"bf16", "f32"}},
    {"KernelOfAnotherSchedule",
     [](Good &g) { g.kernel.head_dim = g.kernel.value_dim = 0, g.desc.kernel = &g.kernel, g.desc.schedule = "other"; },
     {"schedule", "other"}},
};
INSTANTIATE_TEST_SUITE_P(Arguments, PlanError, ::testing::ValuesIn(arguments), bad_call_name<Good>);

TEST(PlanErrorLists, AnUnknownScheduleBringsTheKnownOnes) {
    Good call;
    call.desc.schedule = "flsh";
    attune_attention_plan *plan = nullptr;
    std::vector<std::string> words = schedules_of("attention");
    words.push_back("schedule"), words.push_back("flsh");
    expect_error(attune_attention_plan_create(&call.desc, &plan), ATTUNE_INVALID_ARGUMENT, words);
}

TEST(PlanErrorLists, NoPlaceForThePlan) {
    Good call;
    expect_error(attune_attention_plan_create(&call.desc, nullptr), ATTUNE_INVALID_ARGUMENT, {"plan", "NULL"});
}

TEST(PlanErrorLists, DestroyingNoPlanIsFine) {
    attune_attention_plan_destroy(nullptr);
    EXPECT_EQ(attune_attention_plan_kernel(nullptr), nullptr);
}

Bad mask(const char *name, const char *text, std::vector<std::string> words) {
    words.push_back("mask");
    return {name, [text](Good &g) { g.desc.mask = text; }, words};
}

const std::string long_mask(5000, ' '), deep_mask(200, '!');

/** Columns count from 1. */
const Bad masks[] = {
    mask("Empty", "", {"column 1"}),
    mask("Blank", "   ", {"none"}),
    mask("Unknown", "casual", {"column 1", "casual", "causal", "window", "prefix"}),
    mask("UnknownLater", "causal & windw(2, 0)", {"column 10", "windw"}),
    mask("UpperCase", "Causal", {"column 1", "Causal"}),
    mask("TwoTerms", "causal prefix(2)", {"column 8", "prefix"}),
    mask("OpenBracket", "(causal", {"column 8", "')'"}),
    mask("CloseBracket", "causal)", {"column 7", "')'"}),
    mask("NoOperand", "causal & ", {"column"}),
    mask("NoLeftOperand", "| causal", {"column 1", "'|'"}),
    mask("DoubledSign", "causal && prefix(1)", {"column 9", "'&'"}),
    mask("NoneCombined", "none | causal", {"column 6", "none"}),
    mask("NoneCombinedLater", "causal & none", {"column 10", "none"}),
    mask("WindowAlone", "window", {"column 7", "window(left, right"}),
    mask("WindowOfOne", "window(2)", {"column 9", "window"}),
    mask("WindowOfFour", "window(1,2,top_left,3)", {"column 20", "window"}),
    mask("WindowBelowMinusOne", "window(-2, 0)", {"column 8", "-2", "-1"}),
    mask("WindowNotAnInteger", "window(2.5, 0)", {"column 8", "2.5"}),
    mask("WindowPast64Bits", "window(9223372036854775808, 0)", {"column 8", "9223372036854775808", "64"}),
    mask("WindowOfAName", "window(width, 0)", {"column 8", "width"}),
    mask("PrefixNegative", "prefix(-1)", {"column 8", "-1", "0"}),
    mask("PrefixAlone", "prefix", {"column 7", "prefix(length)"}),
    mask("PrefixAligned", "prefix(2, top_left)", {"column 9"}),
    mask("Alignment", "causal(bottom_left)", {"column 8", "bottom_left", "top_left", "bottom_right"}),
    mask("AlignmentEmpty", "causal()", {"column 8", "top_left"}),
    mask("StrangeSign", "causal ^ prefix(2)", {"column 8", "^"}),
    mask("TooLong", long_mask.c_str(), {"5000", "4096"}),
    mask("TooDeep", deep_mask.c_str(), {"deep"}),
};
INSTANTIATE_TEST_SUITE_P(Masks, PlanError, ::testing::ValuesIn(masks), bad_call_name<Good>);

Bad score(const char *name, const char *text, std::vector<std::string> words) {
    words.push_back("score");
    return {name, [text](Good &g) { g.desc.score = text; }, words};
}

Bad position(const char *name, const char *text, std::vector<std::string> words) {
    words.push_back("position");
    return {name, [text](Good &g) { g.desc.position = text; }, words};
}

const Bad texts[] = {
    score("ScoreUnknown", "softcap(30) alibis", {"column 13", "alibis", "alibi", "t5"}),
    score("ScoreNumber", "softcap(0)", {"column 9", "softcap"}),
    position("PositionUnknown", "rotray(half)", {"column 1", "rotray", "rotary", "learned", "sinusoidal"}),
    position("PositionLayout", "rotary(quarter)", {"column 8", "quarter", "half", "interleaved"}),
    position("PositionWiderThanHeads", "rotary(half, width=10)", {"width is 10", "2 to D = 8"}),
    position("PositionOfOtherSections", "rotary(half, sections=mrope(1, 2))", {"sections", "3", "4"}),
    position("PositionOfThreeAxes", "rotary(half, axes=3)", {"axes is 3", "4 pairs"}),
    {"PositionOfOddHeads", [](Good &g) { g.desc.position = "rotary(half)", g.desc.head_dim = 7; }, {"position", "D is 7", "even"}},
};
INSTANTIATE_TEST_SUITE_P(Texts, PlanError, ::testing::ValuesIn(texts), bad_call_name<Good>);

/** What no prebuilt kernel runs brings the line that makes a kernel for it. */
Bad compiled_in(const char *name, const std::function<void(Good &)> &spoil, std::vector<std::string> words) {
    return {name, spoil, words, ATTUNE_UNSUPPORTED};
}
/** On a GPU the mask is refused before one is looked for. */
Bad compiled_in_on_cuda(const char *name, int64_t head_dim, const char *schedule, const char *words) {
    const auto spoil = [=](Good &g) {
        g.desc.device = ATTUNE_CUDA, g.desc.dtype = ATTUNE_F16, g.desc.mask = "dilated(2)";
        g.desc.head_dim = head_dim, g.desc.schedule = schedule;
    };
    return compiled_in(name, spoil, {"attune_add_kernel(my_attention DEVICE cuda MASK \"dilated(2)\"", words});
}
const Bad patterns[] = {
    compiled_in("Dilated", [](Good &g) { g.desc.mask = "causal & dilated(2)"; },
                {"dilated", "attune_add_kernel(my_attention MASK \"causal & dilated(2)\" HEAD_DIM 8)"}),
    compiled_in("Strided", [](Good &g) { g.desc.mask = "strided(4, 2)", g.desc.value_dim = 6; },
                {"strided", "attune_add_kernel(my_attention MASK \"strided(4, 2)\" HEAD_DIM 8 VALUE_DIM 6)"}),
    compiled_in("TensorUnderOr", [](Good &g) { g.desc.mask = "causal | tensor", g.desc.score = "softcap(30) alibi"; },
                {"tensor under | or !", "MASK \"causal | tensor\" SCORE \"softcap(30) alibi\" HEAD_DIM 8"}),
    compiled_in("TensorNegated", [](Good &g) { g.desc.mask = "!tensor", g.desc.position = "rotary(half)", g.desc.score = "none"; },
                {"tensor under | or !", "MASK \"!tensor\" POSITION \"rotary(half)\" HEAD_DIM 8"}),
    compiled_in("OfAnotherSchedule", [](Good &g) { g.desc.mask = "dilated(2)", g.desc.schedule = "materialized"; },
                {"MASK \"dilated(2)\" HEAD_DIM 8 SCHEDULE materialized"}),
    compiled_in("BesideAKernelsOwn",
                [](Good &g) {
                    g.kernel.mask = "causal | prefix(2)", g.kernel.head_dim = g.kernel.value_dim = 0;
                    g.desc.kernel = &g.kernel, g.desc.mask = "dilated(2)";
                },
                {"MASK \"(causal | prefix(2)) & (dilated(2))\" HEAD_DIM 8"}),
    compiled_in_on_cuda("OnCuda", 64, nullptr, " HEAD_DIM 64 DTYPE f16)"),
    compiled_in_on_cuda("OnTensorCores", 64, "mma", " HEAD_DIM 64 DTYPE f16)"),
    compiled_in_on_cuda("NotOnTensorCores", 64, "simt", " HEAD_DIM 64 DTYPE f16 SCHEDULE simt)"),
    compiled_in_on_cuda("OnTensorCoresOfAnotherWidth", 80, "mma", " HEAD_DIM 80 DTYPE f16 SCHEDULE mma)"),
    compiled_in_on_cuda("NotOnTensorCoresOfAnotherWidth", 80, "simt", " HEAD_DIM 80 DTYPE f16)"),
};
INSTANTIATE_TEST_SUITE_P(Patterns, PlanError, ::testing::ValuesIn(patterns), bad_call_name<Good>);

const Bad twice[] = {
    {"ScoreTwice",
     [](Good &g) {
         g.kernel.score = "alibi", g.kernel.head_dim = g.kernel.value_dim = 0, g.desc.kernel = &g.kernel, g.desc.score = "alibi";
     },
     {"desc.score", "alibi", "compiled in"}},
    {"PositionTwice",
     [](Good &g) {
         g.kernel.position = "learned", g.kernel.head_dim = g.kernel.value_dim = 0, g.desc.kernel = &g.kernel;
         g.desc.position = "rotary(half)";
     },
     {"desc.position", "rotary(half)", "learned", "compiled in"}},
    {"KernelWithoutScore", [](Good &g) { g.kernel.score = nullptr, g.desc.kernel = &g.kernel; }, {"kernel", "score"}},
};
INSTANTIATE_TEST_SUITE_P(Twice, PlanError, ::testing::ValuesIn(twice), bad_call_name<Good>);

} // namespace
} // namespace attune::test::plan_error_test
