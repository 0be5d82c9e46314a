// Where a CPU has tiles, the plan multiplies f32 and f16 by them, each number as several of bf16, but for few queries, few channels, and
// the few queries that a mask leaves a key: there taking numbers into parts costs more than it gains.
#include <algorithm>
#include <string_view>

#include "attention_test.h"

namespace attune::test {
namespace {

TEST(TilesChoice, IsMadeForManyQueriesOfManyChannels) {
    const bool has_tiles = std::string_view(attune_cpu_class()) == "avx512_amx";
    const int64_t never = int64_t{1} << 30;
    for (const char *mask : {"none", "causal(bottom_right)"})
        for (attune_type type : {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16})
            for (int64_t dim : {32, 64, 128, 48, 80, 40, 16}) {
                SCOPED_TRACE(::testing::Message() << mask << ", " << dim << ", type " << type);
                AttentionDesc desc;
                desc.head_dim = desc.value_dim = dim, desc.mask = mask, desc.dtype = type;
                const Result<AttentionPlan> plan = AttentionPlan::create(desc);
                ASSERT_TRUE(plan.ok()) << plan.status().message;
                const int64_t of_type = type == ATTUNE_F32 ? 256 : 128, of_mask = std::string_view(mask) == "none" ? 1 : 2;
                const int64_t least = of_mask * (dim % 32 == 0 ? of_type : dim < 48 ? never : 2 * of_type);
                EXPECT_STREQ(plan->kernel_for(std::min(least - 1, never), 32, 32, 4096)->schedule, "flash");
                if (least >= never) continue;
                const char *many = !has_tiles           ? "flash"
                                   : type == ATTUNE_F32 ? "flash_bf16x3"
                                   : type == ATTUNE_F16 ? "flash_bf16x2"
                                                        : "flash";
                EXPECT_STREQ(plan->kernel_for(least, 8, 2, 64)->schedule, many);
                EXPECT_STREQ(plan->kernel_for(4096, 1, 1, 4096)->schedule, many);
            }
    AttentionDesc named;
    named.head_dim = named.value_dim = 64, named.schedule = "flash_bf16x3";
    const Result<AttentionPlan> by_name = AttentionPlan::create(named);
    ASSERT_TRUE(by_name.ok()) << by_name.status().message;
    EXPECT_STREQ(by_name->kernel_for(1, 8, 8, 64)->schedule, "flash_bf16x3");
}

} // namespace
} // namespace attune::test
