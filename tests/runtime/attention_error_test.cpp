// One case for each thing an attention call can have wrong: the code, the sentence, and outputs left alone.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "problem.h"

namespace attune::runtime::attention_error_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int64_t past_int32 = int64_t{1} << 31;

/** A problem with tensors to spoil. Everything optional is given but the offset. */
struct Spoiled : Problem {
    Spoiled() {
        const int64_t scores[4] = {2, 4, 3, 5};
        boolean_mask = attune_contiguous(attend, ATTUNE_BOOL, 4, scores);
        bias = tensor(bias_memory, {2, 4, 3, 5});
        key_lengths = attune_contiguous(lengths, ATTUNE_I32, 1, &batch);
        offsets = attune_contiguous(positions, ATTUNE_I64, 1, &batch);
        args.lse = &lse_tensor, args.weights = &weights_tensor;
        args.boolean_mask = &boolean_mask, args.bias = &bias, args.key_lengths = &key_lengths;
    }
    bool attend[120] = {};
    std::vector<float> bias_memory = std::vector<float>(120);
    int32_t lengths[2] = {5, 0};
    int64_t positions[2] = {1, 2};
    attune_tensor boolean_mask, bias, key_lengths, offsets;
};

struct Case {
    const char *name;
    attune_status code;
    const char *sentence; // its beginning
    std::function<void(Spoiled &)> spoil;
};

const Case cases[] = {
    {"NullData", ATTUNE_INVALID_ARGUMENT, "q.data is NULL; the tensor has elements", [](Spoiled &p) { p.args.q.data = nullptr; }},
    {"NullKey", ATTUNE_INVALID_ARGUMENT, "k.data is NULL", [](Spoiled &p) { p.args.k.data = nullptr; }},
    {"NullOut", ATTUNE_INVALID_ARGUMENT, "out.data is NULL", [](Spoiled &p) { p.args.out.data = nullptr; }},
    {"NullLse", ATTUNE_INVALID_ARGUMENT, "lse.data is NULL", [](Spoiled &p) { p.lse_tensor.data = nullptr; }},
    {"Misaligned", ATTUNE_INVALID_ARGUMENT, "v.data is ", [](Spoiled &p) { p.args.v.data = reinterpret_cast<char *>(p.args.v.data) + 2; }},
    {"Type", ATTUNE_INVALID_ARGUMENT, "k.type is bf16; it must be f32", [](Spoiled &p) { p.args.k.type = ATTUNE_BF16; }},
    {"NoType", ATTUNE_INVALID_ARGUMENT, "out.type is 0; it must be f32", [](Spoiled &p) { p.args.out.type = static_cast<attune_type>(0); }},
    {"Rank", ATTUNE_INVALID_ARGUMENT, "q.rank is 3; it must be 4", [](Spoiled &p) { p.args.q.rank = 3; }},
    {"HugeRank", ATTUNE_INVALID_ARGUMENT, "bias.rank is 1000000; it must be 4", [](Spoiled &p) { p.bias.rank = 1000000; }},
    {"Device", ATTUNE_INVALID_ARGUMENT, "v.device is cuda; it must be cpu, where this call runs",
     [](Spoiled &p) { p.args.v.device = ATTUNE_CUDA; }},
    {"NoDevice", ATTUNE_UNSUPPORTED, "v.device is 2; it must be ATTUNE_CPU (0) or ATTUNE_CUDA (1)",
     [](Spoiled &p) { p.args.v.device = static_cast<attune_device>(2); }},
    {"NegativeExtent", ATTUNE_INVALID_ARGUMENT, "q.extent[2] is -1; it must be 0 to 2147483647",
     [](Spoiled &p) { p.args.q.extent[2] = -1; }},
    {"HugeExtent", ATTUNE_INVALID_ARGUMENT, "k.extent[2] is 2147483648; it must be 0 to 2147483647",
     [](Spoiled &p) { p.args.k.extent[2] = past_int32; }},
    {"HugeProduct", ATTUNE_INVALID_ARGUMENT, "q has more elements than 64 bits count",
     [](Spoiled &p) {
         for (int64_t &extent : p.args.q.extent)
             extent = INT32_MAX;
     }},
    {"HugeStride", ATTUNE_INVALID_ARGUMENT, "k.stride[2] is 2147483648; it must be -2147483647 to 2147483647 elements",
     [](Spoiled &p) { p.args.k.stride[2] = past_int32; }},
    {"InnerStride", ATTUNE_INVALID_ARGUMENT, "q.stride[3] is 2; the innermost axis must be contiguous",
     [](Spoiled &p) { p.args.q.stride[3] = 2; }},
    {"ZeroStrideOut", ATTUNE_INVALID_ARGUMENT, "out.stride[1] is 0; an output's strides must be 1 or more",
     [](Spoiled &p) { p.args.out.stride[1] = 0; }},
    {"NegativeStrideOut", ATTUNE_INVALID_ARGUMENT, "lse.stride[1] is -3; an output's", [](Spoiled &p) { p.lse_tensor.stride[1] = -3; }},
    {"SelfOverlap", ATTUNE_INVALID_ARGUMENT, "out's strides make elements share memory", [](Spoiled &p) { p.args.out.stride[2] = 3; }},
    {"OutOfAddresses", ATTUNE_INVALID_ARGUMENT, "q reaches outside the address space",
     [](Spoiled &p) { p.args.q.stride[0] = -INT32_MAX, p.args.q.data = reinterpret_cast<float *>(64); }},
    {"OutIsQuery", ATTUNE_INVALID_ARGUMENT, "out overlaps q in memory", [](Spoiled &p) { p.args.out.data = p.q.data() + 5; }},
    {"OutIsLengths", ATTUNE_INVALID_ARGUMENT, "lse overlaps key_lengths in memory",
     [](Spoiled &p) { p.key_lengths.data = p.lse.data() + 8, p.lse[8] = p.lse[9] = 0; }},
    {"WeightsAreOut", ATTUNE_INVALID_ARGUMENT, "weights overlaps out in memory", [](Spoiled &p) { p.weights_tensor.data = p.out.data(); }},
    {"LseIsOut", ATTUNE_INVALID_ARGUMENT, "lse overlaps out in memory", [](Spoiled &p) { p.lse_tensor.data = p.out.data() + 100; }},
    {"HeadDim", ATTUNE_INVALID_ARGUMENT, "q.extent[3] is 3; it must be 4, the plan's head_dim", [](Spoiled &p) { p.args.q.extent[3] = 3; }},
    {"KeyDim", ATTUNE_INVALID_ARGUMENT, "k.extent[3] is 3; it must be 4", [](Spoiled &p) { p.args.k.extent[3] = 3; }},
    {"ValueDim", ATTUNE_INVALID_ARGUMENT, "v.extent[3] is 5; it must be 6, the plan's value_dim",
     [](Spoiled &p) { p.args.v.extent[3] = 5; }},
    {"Batch", ATTUNE_INVALID_ARGUMENT, "k.extent[0] is 1; it must be 2, the batch of q", [](Spoiled &p) { p.args.k.extent[0] = 1; }},
    {"ValueKeys", ATTUNE_INVALID_ARGUMENT, "v.extent[2] is 4; it must be 5, the keys of k", [](Spoiled &p) { p.args.v.extent[2] = 4; }},
    {"OutQueries", ATTUNE_INVALID_ARGUMENT, "out.extent[2] is 2; it must be 3, the queries of q",
     [](Spoiled &p) { p.args.out.extent[2] = 2; }},
    {"Heads", ATTUNE_INVALID_ARGUMENT, "q has 3 heads; they must be a multiple of the 2 heads of k and v",
     [](Spoiled &p) { p.args.q.extent[1] = p.args.out.extent[1] = 3; }},
    {"NoKeyHeads", ATTUNE_INVALID_ARGUMENT, "q has 4 heads; they must be a multiple of the 0",
     [](Spoiled &p) { p.args.k.extent[1] = p.args.v.extent[1] = 0; }},
    {"LseShape", ATTUNE_INVALID_ARGUMENT, "lse.extent[2] is 2; it must be 3, the queries of q",
     [](Spoiled &p) { p.lse_tensor.extent[2] = 2; }},
    {"LseType", ATTUNE_INVALID_ARGUMENT, "lse.type is f16; it must be f32", [](Spoiled &p) { p.lse_tensor.type = ATTUNE_F16; }},
    {"WeightsShape", ATTUNE_INVALID_ARGUMENT, "weights.extent[3] is 4; it must be 5, the keys of k",
     [](Spoiled &p) { p.weights_tensor.extent[3] = 4; }},
    {"MaskType", ATTUNE_INVALID_ARGUMENT, "boolean_mask.type is f32; it must be bool",
     [](Spoiled &p) { p.boolean_mask.type = ATTUNE_F32; }},
    {"MaskShape", ATTUNE_INVALID_ARGUMENT, "boolean_mask.extent[1] is 2; it must be 1 or 4, the heads of q",
     [](Spoiled &p) { p.boolean_mask.extent[1] = 2; }},
    {"BiasRank", ATTUNE_INVALID_ARGUMENT, "bias.rank is 2; it must be 4", [](Spoiled &p) { p.bias.rank = 2; }},
    {"LengthsType", ATTUNE_INVALID_ARGUMENT, "key_lengths.type is f32; it must be i32 or i64",
     [](Spoiled &p) { p.key_lengths.type = ATTUNE_F32; }},
    {"LengthsShape", ATTUNE_INVALID_ARGUMENT, "key_lengths.extent[0] is 1; it must be 2", [](Spoiled &p) { p.key_lengths.extent[0] = 1; }},
    {"LengthTooLong", ATTUNE_INVALID_ARGUMENT, "key_lengths[1] is 6; it must be 0 to M = 5", [](Spoiled &p) { p.lengths[1] = 6; }},
    {"LengthNegative", ATTUNE_INVALID_ARGUMENT, "key_lengths[0] is -1; it must be 0 to M = 5", [](Spoiled &p) { p.lengths[0] = -1; }},
    {"BothOffsets", ATTUNE_INVALID_ARGUMENT, "offset is 0 and offsets is given too",
     [](Spoiled &p) { p.args.offsets = &p.offsets, p.args.has_offset = 1; }},
    {"OffsetsRank", ATTUNE_INVALID_ARGUMENT, "offsets.rank is 2; it must be 1",
     [](Spoiled &p) { p.args.offsets = &p.offsets, p.offsets.rank = 2; }},
    {"Unaligned", ATTUNE_INVALID_ARGUMENT, "the mask's causal names no alignment, and N = 3 differs from M = 5",
     [](Spoiled &p) { p.desc.mask = "prefix(2) | causal"; }},
    {"UnalignedCompiledIn", ATTUNE_INVALID_ARGUMENT, "the mask's causal names no alignment",
     [](Spoiled &p) {
         static const int32_t reach = 2;
         p.desc.kernel = &causal_window_kernel, p.args.params = &reach, p.args.param_count = 1;
     }},
    {"Scale", ATTUNE_INVALID_ARGUMENT, "scale is inf; it must be finite",
     [](Spoiled &p) { p.args.has_scale = 1, p.args.scale = infinity; }},
    {"ScaleNan", ATTUNE_INVALID_ARGUMENT, "scale is nan; it must be finite", [](Spoiled &p) { p.args.has_scale = 1, p.args.scale = nan; }},
    {"Softcap", ATTUNE_INVALID_ARGUMENT, "softcap is -1; it must be 0 (none) or more, and finite", [](Spoiled &p) { p.args.softcap = -1; }},
    {"SoftcapNan", ATTUNE_INVALID_ARGUMENT, "softcap is nan", [](Spoiled &p) { p.args.softcap = nan; }},
    {"Temperature", ATTUNE_INVALID_ARGUMENT, "temperature is 0; it must be above 0", [](Spoiled &p) { p.args.temperature = 0; }},
    {"TemperatureNan", ATTUNE_INVALID_ARGUMENT, "temperature is nan; it must be above 0", [](Spoiled &p) { p.args.temperature = nan; }},
    {"Params", ATTUNE_INVALID_ARGUMENT, "param_count is 2; the kernel attention_flash takes 0", [](Spoiled &p) { p.args.param_count = 2; }},
    {"NullParams", ATTUNE_INVALID_ARGUMENT, "params is NULL; the kernel causal_window takes 1",
     [](Spoiled &p) { p.desc.kernel = &causal_window_kernel, p.args.param_count = 1; }},
    {"ParamValue", ATTUNE_INVALID_ARGUMENT, "params[0] is -2; reach of the mask's window must be -1 or more",
     [](Spoiled &p) {
         static const int32_t reach = -2;
         p.desc.kernel = &causal_window_kernel, p.args.params = &reach, p.args.param_count = 1;
     }},
    {"OpaqueWeights", ATTUNE_UNSUPPORTED, "weights and scores can't be given for the kernel opaque",
     [](Spoiled &p) { p.desc.kernel = &opaque_kernel; }},
    {"ArgsSize", ATTUNE_INVALID_ARGUMENT, "args.struct_size is 8; it must be ", [](Spoiled &p) { p.args.struct_size = 8; }},
};

class AttentionErrors : public testing::TestWithParam<Case> {};

TEST_P(AttentionErrors, AreRefusedWithASentence) {
    Spoiled problem;
    GetParam().spoil(problem);
    ASSERT_EQ(problem.make_plan(), ATTUNE_OK) << attune_error_message();
    const std::vector<float> out = problem.out, lse = problem.lse, weights = problem.weights;
    seen().clear();
    EXPECT_EQ(problem.run(), GetParam().code);
    EXPECT_EQ(std::string(attune_error_message()).find(GetParam().sentence), 0u) << attune_error_message();
    EXPECT_TRUE(seen().kernels.empty());
    EXPECT_EQ(problem.out, out);
    EXPECT_EQ(problem.lse, lse);
    EXPECT_EQ(problem.weights, weights);
}

INSTANTIATE_TEST_SUITE_P(Runs, AttentionErrors, testing::ValuesIn(cases), [](const auto &test) { return test.param.name; });

TEST(AttentionError, TheUnspoiledProblemRuns) {
    Spoiled problem;
    EXPECT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
}

TEST(AttentionError, NullStructsAreRefused) {
    Problem problem;
    attune_attention_plan *plan = nullptr;
    EXPECT_EQ(attune_attention_plan_create(nullptr, &plan), ATTUNE_INVALID_ARGUMENT);
    EXPECT_STREQ(attune_error_message(), "desc is NULL");
    EXPECT_EQ(attune_attention_plan_create(&problem.desc, nullptr), ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(attune_attention_run(nullptr, &problem.args, nullptr), ATTUNE_INVALID_ARGUMENT);
    ASSERT_EQ(problem.make_plan(), ATTUNE_OK);
    EXPECT_EQ(attune_attention_run(problem.plan, nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
    attune_call call = ATTUNE_CALL_INIT;
    call.threads = -1;
    EXPECT_EQ(problem.run(&call), ATTUNE_INVALID_ARGUMENT);
    EXPECT_STREQ(attune_error_message(), "call.threads is -1; it must be 0 (every CPU) or more");
    call.struct_size = 0;
    EXPECT_EQ(problem.run(&call), ATTUNE_INVALID_ARGUMENT);
    attune_attention_args_init(nullptr);
    attune_attention_plan_destroy(nullptr);
    EXPECT_EQ(attune_attention_plan_kernel(nullptr), nullptr);
}

struct PlanCase {
    const char *name;
    attune_status code;
    const char *sentence;
    std::function<void(attune_attention_desc &)> spoil;
};

const PlanCase plan_cases[] = {
    {"Schedule", ATTUNE_INVALID_ARGUMENT, "schedule is \"fast\"; the schedules of attention are flash, reference, only_d4",
     [](attune_attention_desc &d) { d.schedule = "fast"; }},
    {"Widths", ATTUNE_UNSUPPORTED,
     "no linked kernel does attention for f32, D = 4, Dv = 6 by the schedule only_d4; there are attention_flash, ",
     [](attune_attention_desc &d) { d.schedule = "only_d4"; }},
    {"Type", ATTUNE_UNSUPPORTED, "no linked kernel does attention for bf16", [](attune_attention_desc &d) { d.dtype = ATTUNE_BF16; }},
    {"NoType", ATTUNE_INVALID_ARGUMENT, "desc.dtype is i32; it must be f32, f16 or bf16",
     [](attune_attention_desc &d) { d.dtype = ATTUNE_I32; }},
    {"HeadDim", ATTUNE_INVALID_ARGUMENT, "desc.head_dim is 0; it must be 1 to 2147483647",
     [](attune_attention_desc &d) { d.head_dim = 0; }},
    {"ValueDim", ATTUNE_INVALID_ARGUMENT, "desc.value_dim is -1; it must be 1 to", [](attune_attention_desc &d) { d.value_dim = -1; }},
    {"Mask", ATTUNE_INVALID_ARGUMENT, "mask, column 10: 'windows' isn't a mask; the masks are none, causal, window, prefix",
     [](attune_attention_desc &d) { d.mask = "causal & windows(3, 0)"; }},
    {"KernelCpu", ATTUNE_UNSUPPORTED, "the kernel foreign is built for", [](attune_attention_desc &d) { d.kernel = &foreign_kernel; }},
    {"KernelDim", ATTUNE_INVALID_ARGUMENT, "desc.head_dim is 8; the kernel is compiled for 4",
     [](attune_attention_desc &d) { d.kernel = &causal_window_kernel, d.head_dim = 8; }},
    {"KernelSchedule", ATTUNE_INVALID_ARGUMENT, "desc.schedule is \"reference\"; the kernel causal_window is compiled with \"flash\"",
     [](attune_attention_desc &d) { d.kernel = &causal_window_kernel, d.schedule = "reference"; }},
    {"KernelOperation", ATTUNE_INVALID_ARGUMENT, "kernel.operation is \"attention_weights\"; it must be \"attention\"",
     [](attune_attention_desc &d) { d.kernel = attune_kernel_at(4); }},
    {"Size", ATTUNE_INVALID_ARGUMENT, "desc.struct_size is 0; it must be", [](attune_attention_desc &d) { d.struct_size = 0; }},
};

class PlanErrors : public testing::TestWithParam<PlanCase> {};

TEST_P(PlanErrors, AreRefusedWithASentence) {
    Problem problem;
    GetParam().spoil(problem.desc);
    EXPECT_EQ(problem.make_plan(), GetParam().code);
    EXPECT_EQ(std::string(attune_error_message()).find(GetParam().sentence), 0u) << attune_error_message();
    EXPECT_EQ(problem.plan, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Plans, PlanErrors, testing::ValuesIn(plan_cases), [](const auto &test) { return test.param.name; });

} // namespace
} // namespace attune::runtime::attention_error_test
