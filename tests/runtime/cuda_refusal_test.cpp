// What machines without a GPU are told. Where there is one, only the first test has something to say.
#include <string>

#include <gtest/gtest.h>

#include "attune/attune.hpp"
#include "fake_kernels.h"
#include "problem.h"

namespace attune::runtime::cuda_refusal_test {
namespace {

TEST(NoGpu, StatusNamesWhatIsMissing) {
    const attune::Status status = cuda_status();
    EXPECT_EQ(status.ok(), !cuda_device_name().empty());
    if (status.ok()) GTEST_SKIP() << "there is " << cuda_device_name();
    EXPECT_EQ(status.code, ATTUNE_UNSUPPORTED);
    EXPECT_NE(status.message.find("device cuda"), std::string::npos) << status.message;
}

TEST(NoGpu, PlansAndCallsAreRefused) {
    if (cuda_status().ok()) GTEST_SKIP();
    Problem problem;
    problem.desc.device = ATTUNE_CUDA;
    EXPECT_EQ(problem.make_plan(), ATTUNE_UNSUPPORTED);
    EXPECT_NE(std::string(attune_error_message()).find("device cuda"), std::string::npos);
    const TensorView x = on_cuda({problem.q.data(), {2, 3}});
    EXPECT_EQ(softmax(x, x).code, ATTUNE_UNSUPPORTED);
    EXPECT_EQ(alibi_slopes(on_cuda({problem.q.data(), {8}})).code, ATTUNE_UNSUPPORTED);
    EXPECT_EQ(sinusoidal(x).code, ATTUNE_UNSUPPORTED);
    EXPECT_EQ(add_positions(x, x).code, ATTUNE_UNSUPPORTED);
    EXPECT_EQ(rotary(on_cuda({problem.q.data(), {3, 4}}), on_cuda({problem.out.data(), {3, 4}})).code, ATTUNE_UNSUPPORTED);
}

TEST(NoGpu, TheCpuWorksAsEver) {
    Problem problem;
    EXPECT_EQ(problem.run(), ATTUNE_OK) << attune_error_message();
}

} // namespace
} // namespace attune::runtime::cuda_refusal_test
