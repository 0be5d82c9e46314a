// Run with ATTUNE_CPU=pentium (see CMakeLists.txt): a setting that names no class is an error, not a default.
#include <gtest/gtest.h>

#include "problem.h"

namespace attune::runtime::cpu_setting_test {
namespace {

const char *const sentence =
    "the environment's ATTUNE_CPU is pentium; it must be avx512_zen5, avx512_bf16, avx512_amx, avx512, avx2 or x86-64";

TEST(CpuSetting, ThatNamesNoClassIsRefused) {
    Problem problem;
    EXPECT_EQ(problem.make_plan(), ATTUNE_INVALID_ARGUMENT);
    EXPECT_STREQ(attune_error_message(), sentence);

    float x[2] = {1, 2}, y[2];
    const int64_t extent = 2;
    attune_softmax_args args;
    attune_softmax_args_init(&args);
    args.x = attune_contiguous(x, ATTUNE_F32, 1, &extent), args.y = attune_contiguous(y, ATTUNE_F32, 1, &extent);
    EXPECT_EQ(attune_softmax(&args, nullptr), ATTUNE_INVALID_ARGUMENT);
    EXPECT_STREQ(attune_error_message(), sentence);
}

} // namespace
} // namespace attune::runtime::cpu_setting_test
