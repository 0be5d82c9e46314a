// What kernels of attention on a GPU are called with.
#include "device_attention.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "attune/attune.hpp"

namespace attune::runtime::attention_arguments_test {
namespace {

TEST(CudaArguments, DeviceAndStream) {
    EXPECT_TRUE(cuda_status().ok());
    EXPECT_NE(cuda_device_name().find("compute capability"), std::string::npos);
    DeviceAttention attention;
    int stream = 0;
    attention.call.stream = &stream;
    run_well(attention);
    EXPECT_STREQ(seen_cuda().kernel, "mma_bf16_d64");
    EXPECT_EQ(seen_cuda().stream, &stream);
    EXPECT_TRUE(seen_cuda().context);
}

TEST(CudaArguments, BuffersAreOnTheDeviceAlone) {
    DeviceAttention attention;
    run_well(attention);
    const SeenAttention &seen = seen_cuda();
    for (const SeenBuffer *buffer :
         {&seen.query, &seen.key, &seen.value, &seen.lengths, &seen.offsets, &seen.sinks, &seen.bias, &seen.pages, &seen.out, &seen.lse}) {
        EXPECT_NE(buffer->device, 0u); // of what isn't there too: Halide's runtime would allocate it
        EXPECT_FALSE(buffer->host);
        EXPECT_TRUE(buffer->interface);
        EXPECT_FALSE(buffer->dirty);
    }
    for (const SeenBuffer *unused : {&seen.lengths, &seen.offsets, &seen.sinks, &seen.bias, &seen.pages})
        for (int32_t extent : unused->extents)
            EXPECT_EQ(extent, 1);
}

TEST(CudaArguments, WordsOfTwoChannels) {
    DeviceAttention attention;
    attention.args.q.stride[1] = 64, attention.args.q.stride[2] = 4 * 64; // [batch, tokens, heads, dim]
    run_well(attention);
    const SeenBuffer &query = seen_cuda().query, &out = seen_cuda().out;
    EXPECT_EQ(query.device, address(attention.args.q));
    EXPECT_EQ(query.type_bits, 32);
    EXPECT_EQ(query.type_code, 1); // unsigned
    EXPECT_EQ(query.extents, (Ints{32, 8, 4, 2}));
    EXPECT_EQ(query.strides, (Ints{1, 128, 32, 1024}));
    EXPECT_EQ(out.extents, (Ints{4, 8, 8, 4, 2})); // words of a group, groups, tokens, heads, batch
}

TEST(CudaArguments, PlainElements) {
    DeviceAttention attention(ATTUNE_F32);
    run_well(attention);
    EXPECT_STREQ(seen_cuda().kernel, "simt_f32");
    EXPECT_EQ(seen_cuda().query.extents, (Ints{64, 8, 4, 2}));
    EXPECT_EQ(seen_cuda().key.strides, (Ints{1, 64, 1024, 2048}));
    EXPECT_EQ(seen_cuda().key.type_bits, 32);
}

TEST(CudaArguments, MaskAndLengths) {
    DeviceAttention attention;
    attention.desc.mask = "causal(bottom_right) & window(5, 0, bottom_right) & lengths";
    attention.args.key_lengths = &attention.lengths;
    run_well(attention);
    const SeenAttention &seen = seen_cuda();
    EXPECT_EQ(seen.offset, 8);
    EXPECT_EQ(seen.left, 5);
    EXPECT_EQ(seen.right, 0);
    EXPECT_EQ(seen.use_lengths, 1);
    EXPECT_EQ(seen.lengths.device, address(attention.lengths));
    EXPECT_EQ(seen.lengths.extents, (Ints{2}));
    EXPECT_EQ(seen.use_offsets, 0);
    EXPECT_EQ(seen.keys, 16);
}

TEST(CudaArguments, OffsetsOfEachItem) {
    DeviceAttention attention;
    attention.desc.mask = "causal", attention.desc.score = "softcap(30) alibi";
    attention.args.offsets = &attention.offsets;
    run_well(attention);
    EXPECT_EQ(seen_cuda().use_offsets, 1);
    EXPECT_EQ(seen_cuda().offsets.device, address(attention.offsets));
    EXPECT_EQ(seen_cuda().use_alibi, 1);
    EXPECT_EQ(seen_cuda().softcap, 30);
    EXPECT_EQ(seen_cuda().right, 0);
}

TEST(CudaArguments, NumbersBiasAndSinks) {
    DeviceAttention attention;
    attention.args.bias = &attention.bias, attention.args.sinks = &attention.sinks, attention.args.lse = &attention.lse;
    attention.args.softcap = 2, attention.args.temperature = 0.5f;
    run_well(attention);
    const SeenAttention &seen = seen_cuda();
    EXPECT_EQ(seen.scale, 0.125f);
    EXPECT_EQ(seen.softcap, 2);
    EXPECT_EQ(seen.temperature, 0.5f);
    EXPECT_EQ(seen.use_bias, 1);
    EXPECT_EQ(seen.bias.extents, (Ints{16, 8, 4, 2}));
    EXPECT_EQ(seen.bias.strides, (Ints{1, 0, 16, 0}));
    EXPECT_EQ(seen.use_sinks, 1);
    EXPECT_EQ(seen.sinks.extents, (Ints{4}));
    EXPECT_EQ(seen.lse.device, address(attention.lse));
    attention.args.has_scale = 1, attention.args.scale = -3;
    run_well(attention);
    EXPECT_EQ(seen_cuda().scale, -3);
}

TEST(CudaArguments, ChoiceOfKernel) {
    DeviceAttention half(ATTUNE_F16);
    run_well(half); // the device's capability is 9.0
    EXPECT_STREQ(seen_cuda().kernel, "wgmma_f16_d64");
    half.desc.schedule = "simt";
    run_well(half);
    EXPECT_STREQ(seen_cuda().kernel, "simt_f16");
    DeviceAttention attention; // wgmma is linked for bf16, too, but for another device
    run_well(attention);
    EXPECT_STREQ(seen_cuda().kernel, "mma_bf16_d64");
    attention.desc.schedule = "mma";
    run_well(attention);
    EXPECT_STREQ(attune_attention_plan_kernel(attention.plan)->name, "mma_bf16_d64");
    EXPECT_STREQ(attune_attention_plan_kernel_for(attention.plan, 1, 4, 2, 4096)->name, "mma_bf16_d64");
}

TEST(CudaArguments, SplitKeysOfFewQueries) {
    DeviceAttention attention(ATTUNE_BF16, 600);
    for (attune_tensor *tensor : {&attention.args.k, &attention.args.v}) // more than there is: no kernel looks
        tensor->extent[1] = 2, tensor->stride[0] = 0, tensor->stride[1] = 0;
    attention.args.q.extent[2] = attention.args.out.extent[2] = 8;
    run_well(attention);
    const SeenAttention &seen = seen_cuda();
    EXPECT_STREQ(seen.kernel, "split_kv_bf16_d64"); // 8 queries of 2 heads
    EXPECT_EQ(seen.keys_per_chunk, 128);
    EXPECT_NE(seen.partial.device, 0u);
    EXPECT_EQ(seen.partial.extents, (Ints{2, 4, 9, 16, 5, 2, 2})); // channels, rows, chunks, key/value heads, batch
    EXPECT_EQ(seen.partial.strides, (Ints{1, 2, 8, 72, 16 * 72, 5 * 16 * 72, 2 * 5 * 16 * 72}));
    EXPECT_EQ(seen.partial.type_bits, 32);
    EXPECT_EQ(seen.out.extents, (Ints{4, 8, 8, 4, 2}));
    EXPECT_TRUE(seen.earlier.empty());
    EXPECT_STREQ(attune_attention_plan_kernel_for(attention.plan, 8, 4, 2, 600)->name, "split_kv_bf16_d64");
    EXPECT_STREQ(attune_attention_plan_kernel_for(attention.plan, 9, 4, 2, 600)->name, "mma_bf16_d64");
    EXPECT_STREQ(attune_attention_plan_kernel_for(attention.plan, 8, 4, 2, 511)->name, "mma_bf16_d64");
    EXPECT_STREQ(attune_attention_plan_kernel(attention.plan)->name, "mma_bf16_d64");
}

/** The memory for chunks' states is bounded: batch items take turns with it. */
TEST(CudaArguments, SplitKeysOfManyItems) {
    DeviceAttention attention(ATTUNE_BF16);
    const int64_t items = 300, keys = 20000; // chunks of 192, 105 of them
    attune_attention_args &args = attention.args;
    for (attune_tensor *tensor : {&args.q, &args.k, &args.v, &args.out})
        tensor->extent[0] = items, tensor->extent[1] = 1, tensor->stride[0] = tensor->stride[1] = 64;
    args.q.extent[2] = args.out.extent[2] = 1, args.k.extent[2] = args.v.extent[2] = keys;
    args.q.extent[1] = args.out.extent[1] = 8, args.q.stride[0] = args.out.stride[0] = 8 * 64;
    args.k.stride[2] = args.v.stride[2] = 0;
    attention.lengths.extent[0] = items;
    args.key_lengths = &attention.lengths;
    run_well(attention);
    const SeenAttention &last = seen_cuda();
    EXPECT_EQ(last.keys_per_chunk, 192);
    const int64_t at_once = (int64_t{1} << 24) / (8 * 72 * 105);
    ASSERT_EQ(last.earlier.size(), static_cast<size_t>((items - 1) / at_once));
    for (size_t launch = 0; launch <= last.earlier.size(); ++launch) {
        const SeenAttention &seen = launch < last.earlier.size() ? last.earlier[launch] : last;
        const auto first = static_cast<uint64_t>(launch) * static_cast<uint64_t>(at_once);
        EXPECT_EQ(seen.query.device, address(args.q) + first * 8 * 64 * 2);
        EXPECT_EQ(seen.key.device, address(args.k) + first * 64 * 2);
        EXPECT_EQ(seen.out.device, address(args.out) + first * 8 * 64 * 2);
        EXPECT_EQ(seen.lengths.device, address(attention.lengths) + first * 4);
        EXPECT_EQ(seen.partial.device, last.partial.device);
        EXPECT_EQ(seen.query.extents[3], launch < last.earlier.size() ? at_once : items - static_cast<int64_t>(first));
    }
}

TEST(CudaArguments, MoreStatesThanCanBeKeptAreRefused) {
    DeviceAttention attention(ATTUNE_BF16);
    attention.desc.schedule = "split_kv";
    attune_attention_args &args = attention.args;
    args.q.extent[2] = args.out.extent[2] = 1 << 17, args.q.stride[2] = args.out.stride[2] = 64;
    for (attune_tensor *tensor : {&args.q, &args.out})
        tensor->stride[0] = int64_t{1} << 26, tensor->stride[1] = int64_t{1} << 24;
    args.k.extent[2] = args.v.extent[2] = 1 << 14, args.k.stride[2] = args.v.stride[2] = 0;
    args.out.data = static_cast<char *>(args.q.data) + (int64_t{1} << 34); // apart from q; nothing is read or written
    EXPECT_EQ(attention.run(), ATTUNE_INVALID_ARGUMENT);
    EXPECT_NE(std::string(attune_error_message()).find("the kernel split_kv_bf16_d64 would keep"), std::string::npos)
        << attune_error_message();
}

TEST(CudaArguments, NothingToDo) {
    DeviceAttention attention;
    attention.args.q.extent[2] = attention.args.out.extent[2] = 0;
    run_well(attention);
    EXPECT_EQ(seen_cuda().kernel, nullptr);
    DeviceAttention headless;
    for (attune_tensor *tensor : {&headless.args.q, &headless.args.k, &headless.args.v, &headless.args.out})
        tensor->extent[1] = 0;
    run_well(headless);
    EXPECT_EQ(seen_cuda().kernel, nullptr);
}

TEST(CudaWithoutKeys, ZerosAndMinusInfinity) {
    DeviceAttention attention(ATTUNE_F32, 0);
    attention.args.out.stride[1] = 64, attention.args.out.stride[2] = 4 * 64 + 8, attention.args.out.stride[0] = 8 * (4 * 64 + 8);
    attention.args.lse = &attention.lse;
    run_well(attention);
    EXPECT_EQ(seen_cuda().kernel, nullptr);
    const auto *out = static_cast<const float *>(attention.args.out.data), *lse = static_cast<const float *>(attention.lse.data);
    for (int64_t row = 0; row < 2 * 8; ++row)
        for (int64_t i = 0; i < 4 * 64 + 8; ++i)
            EXPECT_EQ(out[row * (4 * 64 + 8) + i], i < 4 * 64 ? 0.0f : 77.0f);
    for (int64_t i = 0; i < 2 * 4 * 8; ++i)
        EXPECT_EQ(lse[i], -INFINITY);
    EXPECT_EQ(lse[2 * 4 * 8], 77.0f);
}

TEST(CudaWithoutKeys, Sinks) {
    for (const int64_t queries : {int64_t{1}, int64_t{5}, int64_t{8}}) {
        DeviceAttention attention(ATTUNE_F32, 0);
        attention.args.q.extent[2] = attention.args.out.extent[2] = attention.lse.extent[2] = queries;
        attention.args.lse = &attention.lse, attention.args.sinks = &attention.sinks;
        for (int head = 0; head < 4; ++head)
            static_cast<float *>(attention.sinks.data)[head] = static_cast<float>(head) - 1.5f;
        run_well(attention);
        const auto *lse = static_cast<const float *>(attention.lse.data);
        for (int64_t row = 0; row < 2 * 4; ++row)
            for (int64_t i = 0; i < 8; ++i)
                EXPECT_EQ(lse[row * 8 + i], i < queries ? static_cast<float>(row % 4) - 1.5f : 77.0f);
    }
}

} // namespace
} // namespace attune::runtime::attention_arguments_test
