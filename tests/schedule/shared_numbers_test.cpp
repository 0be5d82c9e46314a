// Numbers that the runtime and the kernels it calls must share, though neither includes the other.
#include <gtest/gtest.h>

#include "attune/attune.h"
#include "dsl/activation.h"
#include "dsl/attention_weights.h"
#include "dsl/frequency.h"
#include "runtime/src/attention_tasks.h"
#include "schedules/machine.h"
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

// The runtime shares queries among threads by tiles, so it knows how many a tile has.
TEST(SharedNumbers, TilesOfAttentionAreAsLargeAsTheRuntimeTakesThemToBe) {
    using runtime::CpuClass;
    const std::string plain = "x86-64-linux", avx2 = plain + "-sse41-avx-f16c-fma-avx2", avx512 = avx2 + "-avx512-avx512_skylake";
    const std::string amx = avx512 + "-avx512_cannonlake-avx512_sapphirerapids", bf16 = avx512 + "-avx512_cannonlake-avx512_zen4";
    const std::pair<CpuClass, std::string> classes[] = {{CpuClass::x86_64, plain},     {CpuClass::avx2, avx2},
                                                        {CpuClass::avx512, avx512},    {CpuClass::avx512_amx, amx},
                                                        {CpuClass::avx512_bf16, bf16}, {CpuClass::avx512_zen5, bf16 + "-avx512_zen5"}};
    for (const auto &[cpu, target] : classes)
        for (const Halide::Type type : {Halide::Type(Halide::Float(32)), Halide::Float(16), Halide::BFloat(16)})
            for (const int head_dim : {0, 64, 80, 128}) {
                SCOPED_TRACE(target + " " + std::to_string(head_dim));
                const schedules::Machine machine = schedules::machine(Halide::Target(target), type);
                const schedules::Tiles tiles =
                    schedules::tuned_tiles(machine, machine.parts_by_tiles > 0 ? "flash_in_parts" : "flash", head_dim);
                EXPECT_EQ(tiles.rows_per_tile, runtime::attention_rows_per_tile(cpu, head_dim));
                EXPECT_EQ(tiles.tiles_per_task, runtime::most_tiles_of_attention_task);
            }
}

} // namespace
} // namespace attune::test
