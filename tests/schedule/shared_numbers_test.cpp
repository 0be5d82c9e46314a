// Numbers that the runtime and the kernels it calls must share, though neither includes the other.
#include <gtest/gtest.h>

#include "attune/attune.h"
#include "dsl/activation.h"
#include "dsl/attention/weights.h"
#include "dsl/frequency.h"
#include "dsl/linear.h"
#include "runtime/src/attention/tasks.h"
#include "runtime/src/cuda/split.h"
#include "runtime/src/kernel/stream.h"
#include "runtime/src/layer/linear_tasks.h"
#include "schedules/cuda/block_sizes.h"
#include "schedules/table.h"
#include "schedules/x86/stream_stores.h"
#include "text/position.h"

namespace attune::test {
namespace {

constexpr bool alike(dsl::RotaryScaling ours, text::ScalingKind theirs) { return static_cast<int>(ours) == static_cast<int>(theirs); }
static_assert(alike(dsl::RotaryScaling::none, text::ScalingKind::none) && alike(dsl::RotaryScaling::linear, text::ScalingKind::linear) &&
              alike(dsl::RotaryScaling::ntk, text::ScalingKind::ntk) && alike(dsl::RotaryScaling::yarn, text::ScalingKind::yarn) &&
              alike(dsl::RotaryScaling::llama3, text::ScalingKind::llama3));

constexpr bool alike(dsl::Activation ours, attune_activation theirs) { return static_cast<int>(ours) == static_cast<int>(theirs); }
static_assert(alike(dsl::activation_none, ATTUNE_ACTIVATION_NONE) && alike(dsl::activation_relu, ATTUNE_RELU) &&
              alike(dsl::activation_gelu, ATTUNE_GELU) && alike(dsl::activation_gelu_tanh, ATTUNE_GELU_TANH) &&
              alike(dsl::activation_silu, ATTUNE_SILU));

constexpr bool alike(dsl::WeightsStage ours, attune_score_stage theirs) { return static_cast<int>(ours) == static_cast<int>(theirs); }
static_assert(alike(dsl::WeightsStage::scaled, ATTUNE_SCORES_SCALED) && alike(dsl::WeightsStage::capped, ATTUNE_SCORES_CAPPED) &&
              alike(dsl::WeightsStage::masked, ATTUNE_SCORES_MASKED));

static_assert(dsl::packed_weight::panel_columns == runtime::PackedWeights::panel_columns);

static_assert(schedules::x86::bytes_before_stream == runtime::bytes_before_stream);

using runtime::CpuClass;

std::vector<std::pair<CpuClass, std::string>> cpu_classes() {
    const std::string plain = "x86-64-linux", avx2 = plain + "-sse41-avx-f16c-fma-avx2", avx512 = avx2 + "-avx512-avx512_skylake";
    const std::string amx = avx512 + "-avx512_cannonlake-avx512_sapphirerapids", bf16 = avx512 + "-avx512_cannonlake-avx512_zen4";
    return {{CpuClass::x86_64, plain},   {CpuClass::avx2, avx2},        {CpuClass::avx512, avx512},
            {CpuClass::avx512_amx, amx}, {CpuClass::avx512_bf16, bf16}, {CpuClass::avx512_zen5, bf16 + "-avx512_zen5"}};
}

// The runtime shares queries among threads by tiles, so it knows how many a tile has.
TEST(SharedNumbers, TilesOfAttentionAreAsLargeAsTheRuntimeTakesThemToBe) {
    for (const auto &[cpu, target] : cpu_classes())
        for (const Halide::Type type : {Halide::Type(Halide::Float(32)), Halide::Float(16), Halide::BFloat(16)})
            for (const int head_dim : {0, 64, 80, 128}) {
                SCOPED_TRACE(target + " " + std::to_string(head_dim));
                const schedules::Machine machine = schedules::machine(Halide::Target(target), type);
                const schedules::Tiles tiles =
                    schedules::tuned_tiles(machine, machine.parts_by_tiles > 0 ? "flash_in_parts" : "flash", head_dim);
                EXPECT_EQ(tiles.rows_per_tile, runtime::attention_rows_per_tile(cpu, head_dim));
                EXPECT_EQ(tiles.tiles_per_task, runtime::most_tiles_of_attention_task);
            }
    EXPECT_EQ(dsl::Blocking::most_heads_at_a_time, runtime::most_attention_heads_at_a_time);
    EXPECT_EQ(dsl::Blocking::most_cells_at_a_time, runtime::most_attention_cells_at_a_time);
}

TEST(SharedNumbers, TilesOfLinearLayersDivideTheRowsThatTheRuntimeShares) {
    const schedules::LinearSchedule *tiles = schedules::find(schedules::linear_schedules(), "tiles", "x86");
    ASSERT_TRUE(tiles);
    for (const auto &[cpu, target] : cpu_classes())
        for (const Halide::Type type : {Halide::Type(Halide::Float(32)), Halide::BFloat(16)}) {
            SCOPED_TRACE(target);
            const int rows = tiles->shape(schedules::machine(Halide::Target(target), type)).rows_per_tile;
            EXPECT_EQ(runtime::rows_per_linear_tile % rows, 0) << rows;
        }
}

// The plan decodes more queries where the kernel will multiply tiles, which it does for widths that fill them.
TEST(SharedNumbers, TilesOfDecodingAreAsWideAsThePlanTakesThemToBe) {
    const schedules::DecodeSchedule *decode = schedules::find(schedules::decode_schedules(), "decode", "x86");
    ASSERT_TRUE(decode);
    dsl::AttentionInputs inputs;
    inputs.pages.key = Halide::Func("keys");
    inputs.pages.key(Halide::Var("dim")) = Halide::cast(Halide::BFloat(16), 0.0f);
    inputs.value_dim = 128;
    for (const auto &[cpu, target] : cpu_classes()) {
        SCOPED_TRACE(target);
        const auto tiles = decode->shape(schedules::machine(Halide::Target(target), Halide::BFloat(16)), 128, inputs).tiles;
        EXPECT_EQ(tiles.size > 0, cpu == CpuClass::avx512_amx);
        if (tiles.size == 0) continue;
        EXPECT_EQ(tiles.products.depth() * tiles.size, runtime::key_channels_of_decode_tiles);
        EXPECT_EQ(tiles.vectors_at_once * tiles.size, runtime::value_channels_of_decode_tiles);
    }
}

// The runtime makes the memory in which split-KV kernels, built without bounds checks, leave the states of chunks.
TEST(SharedNumbers, StatesOfChunksAreAsLargeAsSplitKvKernelsWriteThem) {
    const schedules::SimtSchedule *split = schedules::find(schedules::simt_schedules(), "split_kv", "cuda");
    ASSERT_TRUE(split);
    const schedules::Machine machine = schedules::machine(Halide::Target("x86-64-linux-cuda-cuda_capability_80"));
    for (const int head_dim : {0, 32, 64, 80, 96, 128, 192, 256}) {
        SCOPED_TRACE(head_dim);
        for (const bool tensor_cores : {false, true}) {
            const schedules::CudaBlock block = schedules::split_kv_block(head_dim, tensor_cores);
            EXPECT_EQ(block.queries, runtime::rows_of_split_kv_tile);
            EXPECT_EQ(runtime::keys_of_split_kv_step % block.keys, 0) << block.keys;
        }
        const dsl::SimtBlocking blocking = split->shape(machine, head_dim, Halide::Expr());
        EXPECT_EQ(blocking.rows, runtime::rows_of_split_kv_tile);
        EXPECT_LE(blocking.channels, runtime::widest_split_kv_value);
    }
}

} // namespace
} // namespace attune::test
