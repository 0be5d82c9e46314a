// One test for each argument of attention on a GPU that can be wrong.
#include "device_attention.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace attune::runtime::attention_error_test {
namespace {

struct Case {
    const char *name;
    attune_status status;
    const char *words;
    std::function<void(DeviceAttention &)> spoil;
};
void PrintTo(const Case &c, std::ostream *stream) { *stream << c.name; }

constexpr attune_status invalid = ATTUNE_INVALID_ARGUMENT, unsupported = ATTUNE_UNSUPPORTED;

/** The offset of a tensor's data by some bytes. */
void move(attune_tensor &tensor, int64_t bytes) { tensor.data = static_cast<char *>(tensor.data) + bytes; }

const Case tensor_cases[] = {
    {"QueryOnCpu", invalid, "q.device is cpu; it must be cuda", [](DeviceAttention &a) { a.args.q.device = ATTUNE_CPU; }},
    {"KeyOnCpu", invalid, "k.device is cpu; it must be cuda", [](DeviceAttention &a) { a.args.k.device = ATTUNE_CPU; }},
    {"ValueOnCpu", invalid, "v.device is cpu; it must be cuda", [](DeviceAttention &a) { a.args.v.device = ATTUNE_CPU; }},
    {"OutOnCpu", invalid, "out.device is cpu; it must be cuda", [](DeviceAttention &a) { a.args.out.device = ATTUNE_CPU; }},
    {"NoDevice", unsupported, "q.device is 5", [](DeviceAttention &a) { a.args.q.device = static_cast<attune_device>(5); }},
    {"Null", invalid, "v.data is NULL", [](DeviceAttention &a) { a.args.v.data = nullptr; }},
    {"Type", invalid, "k.type is f16; it must be bf16", [](DeviceAttention &a) { a.args.k.type = ATTUNE_F16; }},
    {"Extent", invalid, "k.extent[3] is 32; it must be 64", [](DeviceAttention &a) { a.args.k.extent[3] = 32; }},
    {"Batch", invalid, "v.extent[0] is 1; it must be 2", [](DeviceAttention &a) { a.args.v.extent[0] = 1; }},
    {"Heads", invalid, "q has 4 heads; they must be a multiple of the 3",
     [](DeviceAttention &a) { a.args.k.extent[1] = a.args.v.extent[1] = 3; }},
    {"Misaligned", invalid, "q.data is", [](DeviceAttention &a) { move(a.args.q, 8); }},
    {"OutMisaligned", invalid, "it must be a multiple of 16 for the kernel mma_bf16_d64", [](DeviceAttention &a) { move(a.args.out, 2); }},
    {"Stride", invalid, "k.stride[2] is 66; it must be a multiple of 8 for the kernel mma_bf16_d64",
     [](DeviceAttention &a) { a.args.k.stride[2] = 66; }},
    {"Overlap", invalid, "out overlaps k", [](DeviceAttention &a) { a.args.out.data = a.args.k.data; }},
    {"LseOverlap", invalid, "lse overlaps sinks",
     [](DeviceAttention &a) { a.args.lse = &a.lse, a.args.sinks = &a.sinks, a.sinks.data = a.lse.data; }},
    {"LseOnCpu", invalid, "lse.device is cpu", [](DeviceAttention &a) { a.args.lse = &a.lse, a.lse.device = ATTUNE_CPU; }},
    {"LseExtent", invalid, "lse.extent[2] is 3", [](DeviceAttention &a) { a.args.lse = &a.lse, a.lse.extent[2] = 3; }},
    {"BiasOnCpu", invalid, "bias.device is cpu", [](DeviceAttention &a) { a.args.bias = &a.bias, a.bias.device = ATTUNE_CPU; }},
    {"BiasExtent", invalid, "bias.extent[1] is 3; it must be 1 or 4",
     [](DeviceAttention &a) { a.args.bias = &a.bias, a.bias.extent[1] = 3; }},
    {"SinksOnCpu", invalid, "sinks.device is cpu", [](DeviceAttention &a) { a.args.sinks = &a.sinks, a.sinks.device = ATTUNE_CPU; }},
    {"SinksExtent", invalid, "sinks.extent[0] is 3", [](DeviceAttention &a) { a.args.sinks = &a.sinks, a.sinks.extent[0] = 3; }},
    {"LengthsOnCpu", invalid, "key_lengths.device is cpu",
     [](DeviceAttention &a) { a.args.key_lengths = &a.lengths, a.lengths.device = ATTUNE_CPU; }},
    {"LengthsType", invalid, "key_lengths.type is i64; it must be i32",
     [](DeviceAttention &a) { a.args.key_lengths = &a.lengths, a.lengths.type = ATTUNE_I64; }},
    {"LengthsExtent", invalid, "key_lengths.extent[0] is 1; it must be 2",
     [](DeviceAttention &a) { a.args.key_lengths = &a.lengths, a.lengths.extent[0] = 1; }},
    {"OffsetsType", invalid, "offsets.type is i64; it must be i32",
     [](DeviceAttention &a) { a.args.offsets = &a.offsets, a.offsets.type = ATTUNE_I64; }},
};

const Case number_cases[] = {
    {"Offsets", invalid, "offset is 3 and offsets is given too",
     [](DeviceAttention &a) { a.args.offsets = &a.offsets, a.args.has_offset = 1, a.args.offset = 3; }},
    {"Scale", invalid, "scale is inf", [](DeviceAttention &a) { a.args.has_scale = 1, a.args.scale = 1e30f * 1e30f; }},
    {"Temperature", invalid, "temperature is 0", [](DeviceAttention &a) { a.args.temperature = 0; }},
    {"Softcap", invalid, "softcap is -1", [](DeviceAttention &a) { a.args.softcap = -1; }},
    {"TwoSoftcaps", invalid, "softcap is 3 and the score names softcap(5)",
     [](DeviceAttention &a) { a.desc.score = "softcap(5)", a.args.softcap = 3; }},
    {"NoAlignment", invalid, "the mask's causal names no alignment", [](DeviceAttention &a) { a.desc.mask = "causal"; }},
    {"AlibiAlignment", invalid, "the score's alibi names no alignment", [](DeviceAttention &a) { a.desc.score = "alibi"; }},
    {"NoLengths", invalid, "the mask names lengths, which needs key_lengths", [](DeviceAttention &a) { a.desc.mask = "lengths"; }},
    {"NoBias", invalid, "the score names bias", [](DeviceAttention &a) { a.desc.score = "bias"; }},
    {"FarOffset", invalid, "offset is 4294967296", [](DeviceAttention &a) { a.args.has_offset = 1, a.args.offset = int64_t{1} << 32; }},
    {"OffsetsAndAlignment", unsupported, "items have offsets of their own, by offsets or a cache, and terms",
     [](DeviceAttention &a) { a.args.offsets = &a.offsets, a.desc.mask = "causal & window(3, 0, top_left)"; }},
};

const Case refused_cases[] = {
    {"Weights", unsupported, "weights is given; attention on device cuda takes", [](DeviceAttention &a) { a.args.weights = &a.other; }},
    {"Scores", unsupported, "scores is given", [](DeviceAttention &a) { a.args.scores = &a.other; }},
    {"BooleanMask", unsupported, "boolean_mask is given", [](DeviceAttention &a) { a.args.boolean_mask = &a.other; }},
    {"Documents", unsupported, "documents is given", [](DeviceAttention &a) { a.args.documents = &a.other; }},
    {"QueryDocuments", unsupported, "query_documents is given", [](DeviceAttention &a) { a.args.query_documents = &a.other; }},
    {"DocumentStarts", unsupported, "document_starts is given", [](DeviceAttention &a) { a.args.document_starts = &a.other; }},
    {"BlockMap", unsupported, "block_map is given", [](DeviceAttention &a) { a.args.block_map = &a.other; }},
    {"T5Table", unsupported, "t5_table is given", [](DeviceAttention &a) { a.args.t5_table = &a.other; }},
    {"Positions", unsupported, "positions is given", [](DeviceAttention &a) { a.args.positions = &a.other; }},
    {"KeyPositions", unsupported, "key_positions is given", [](DeviceAttention &a) { a.args.key_positions = &a.other; }},
    {"PositionTable", unsupported, "position_table is given", [](DeviceAttention &a) { a.args.position_table = &a.other; }},
    {"Dropout", unsupported, "dropout is given", [](DeviceAttention &a) { a.args.dropout = 0.5f; }},
    {"Params", unsupported, "params is given", [](DeviceAttention &a) { a.args.param_count = 1; }},
};

const Case plan_cases[] = {
    {"Device", unsupported, "desc.device is 4; it must be ATTUNE_CPU (0) or ATTUNE_CUDA (1)",
     [](DeviceAttention &a) { a.desc.device = static_cast<attune_device>(4); }},
    {"Mask", invalid, "mask, ", [](DeviceAttention &a) { a.desc.mask = "causa"; }},
    {"MaskTerm", unsupported, "the mask has prefix; on device cuda it must be made of causal, window, lengths and & alone",
     [](DeviceAttention &a) { a.desc.mask = "prefix(3)"; }},
    {"MaskOr", unsupported, "the mask has |", [](DeviceAttention &a) { a.desc.mask = "causal | lengths"; }},
    {"Score", invalid, "score, ", [](DeviceAttention &a) { a.desc.score = "alib"; }},
    {"ScoreT5", unsupported, "the score has t5", [](DeviceAttention &a) { a.desc.score = "t5(8, 16, causal)"; }},
    {"Position", unsupported, "desc.position is given; attention on device cuda takes none",
     [](DeviceAttention &a) { a.desc.position = "rotary(half)"; }},
    {"CpuKernelOnCuda", invalid, "kernel.device is cpu; desc.device is cuda",
     [](DeviceAttention &a) { a.desc.kernel = attune_kernel_at(0); }},
    {"CacheType", unsupported, "desc.cache_dtype", [](DeviceAttention &a) { a.desc.cache_dtype = ATTUNE_I8; }},
    {"Schedule", invalid, "schedule is \"flash\"; the schedules of attention on device cuda are simt, mma, wgmma",
     [](DeviceAttention &a) { a.desc.schedule = "flash"; }},
    {"Width", unsupported,
     "no linked kernel does attention on device cuda for bf16, D = 80, Dv = 80 by the schedule mma; there are simt_f32, simt_f16, "
     "mma_bf16_d64",
     [](DeviceAttention &a) { a.desc.head_dim = 80; }},
    {"TooOld", unsupported, "the kernel wgmma_bf16_d64 is built for sm_103a; ", [](DeviceAttention &a) { a.desc.schedule = "wgmma"; }},
    {"CudaKernelOnCpu", invalid, "kernel.device is cuda",
     [](DeviceAttention &a) {
         for (int32_t i = 0; i < attune_kernel_count(); ++i)
             if (attune_kernel_at(i)->device == ATTUNE_CUDA && !a.desc.kernel) a.desc.kernel = attune_kernel_at(i);
         a.desc.device = ATTUNE_CPU, a.desc.dtype = ATTUNE_F32;
     }},
    {"CudaScheduleOnCpu", invalid, "schedule is \"mma\"; the schedules of attention are flash",
     [](DeviceAttention &a) { a.desc.schedule = "mma", a.desc.device = ATTUNE_CPU, a.desc.dtype = ATTUNE_F32; }},
};

class CudaError : public ::testing::TestWithParam<Case> {};

TEST_P(CudaError, NamesWhatIsWrong) {
    DeviceAttention attention;
    GetParam().spoil(attention);
    EXPECT_EQ(attention.run(), GetParam().status);
    const std::string sentence = attune_error_message();
    EXPECT_NE(sentence.find(GetParam().words), std::string::npos) << sentence;
    EXPECT_EQ(seen_cuda().kernel, nullptr);
}

std::string name_of_case(const ::testing::TestParamInfo<Case> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Tensors, CudaError, ::testing::ValuesIn(tensor_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Numbers, CudaError, ::testing::ValuesIn(number_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Refused, CudaError, ::testing::ValuesIn(refused_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Plans, CudaError, ::testing::ValuesIn(plan_cases), name_of_case);

} // namespace
} // namespace attune::runtime::attention_error_test
