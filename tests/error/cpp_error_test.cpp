// The C++ interface: errors are values, with the C interface's code and sentence.
#include <thread>

#include "attune/layer_norm.hpp"
#include "error_test.h"

namespace attune::test::cpp_error_test {
namespace {

TEST(CppError, APlanThatCantBeMadeIsAStatus) {
    AttentionDesc desc;
    desc.head_dim = 64, desc.schedule = "no such schedule";
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    EXPECT_FALSE(plan.ok());
    EXPECT_FALSE(plan);
    EXPECT_EQ(plan.status().code, ATTUNE_INVALID_ARGUMENT);
    EXPECT_NE(plan.status().message.find("no such schedule"), std::string::npos) << plan.status().message;
}

TEST(CppError, AMaskThatMeansNothingIsAStatus) {
    AttentionDesc desc;
    desc.head_dim = 64, desc.mask = "causal & casual";
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    EXPECT_NE(plan.status().message.find("column 10"), std::string::npos) << plan.status().message;
}

TEST(CppError, ALayerNormThatCantBeMadeIsAStatus) {
    const std::vector<float> numbers(8, 1.0f);
    const TensorView good(numbers.data(), {8});
    ASSERT_TRUE(LayerNorm::create({good, good}).ok());
    const auto refused = [&](const TensorView &weight, const TensorView &bias, const std::string &says) {
        EXPECT_EQ(LayerNorm::create({weight, bias}).status().message, says);
    };
    refused(good, TensorView(numbers.data(), {7}), "bias.extent[0] is 7; it must be 8, as in weight");
    refused(TensorView(numbers.data(), {int64_t{1} << 31}), TensorView(numbers.data(), {int64_t{1} << 31}),
            "weight.extent[0] is 2147483648; it must be 0 to 2147483647");
    refused(TensorView(numbers.data(), {2, 4}), good, "weight.rank is 2; it must be 1");
    refused(good, TensorView(static_cast<const float *>(nullptr), {8}), "bias.data is NULL");
    refused(on_cuda(good), good, "weight.device is cuda; it must be cpu, for the numbers are copied");
    TensorView wrong = good;
    wrong.type = ATTUNE_F16;
    refused(good, wrong, "bias.type is f16; it must be f32 or bf16");
    wrong = good, wrong.stride[0] = int64_t{1} << 62;
    refused(wrong, good, "weight.stride[0] is 4611686018427387904; it must be -2147483647 to 2147483647");
    TensorView misaligned = good;
    misaligned.data = reinterpret_cast<char *>(misaligned.data) + 2;
    refused(good, misaligned, "bias.data must be aligned to 4 bytes");
    EXPECT_EQ(LayerNorm::create({good, good, -1.0f}).status().message, "epsilon is -1.000000; it must be 0 or more");
}

TEST(CppError, ARunThatCantBeDoneIsAStatus) {
    AttentionDesc desc;
    desc.head_dim = 8;
    Result<AttentionPlan> plan = AttentionPlan::create(desc);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    std::vector<float> q(40), kv(56), out(40, 7.0f);
    AttentionArgs args(TensorView(q.data(), {1, 1, 5, 8}), TensorView(kv.data(), {1, 1, 7, 8}), TensorView(kv.data(), {1, 1, 7, 8}),
                       TensorView(out.data(), {1, 1, 5, 8}));
    args.temperature = -1;
    const Status status = plan->run(args);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(status);
    EXPECT_NE(status.message.find("temperature"), std::string::npos) << status.message;
    EXPECT_EQ(out, std::vector<float>(40, 7.0f));
    args.temperature = 1;
    EXPECT_TRUE(plan->run(args).ok());
    EXPECT_TRUE(plan->run(args).message.empty());
}

TEST(CppError, TypesAndDevicesHaveNames) {
    EXPECT_STREQ(attune_type_name(ATTUNE_BF16), "bf16");
    EXPECT_STREQ(attune_type_name(static_cast<attune_type>(0)), "of no known type");
    EXPECT_EQ(attune_type_size(ATTUNE_I64), 8u);
    EXPECT_EQ(attune_type_size(static_cast<attune_type>(0)), 0u);
    EXPECT_STREQ(attune_device_name(ATTUNE_CUDA), "cuda");
    EXPECT_STREQ(attune_device_name(static_cast<attune_device>(3)), "no known device");
}

TEST(CppError, TensorViewsTakeStrides) {
    float x[64] = {};
    const TensorView view(x, {2, 3, 4}, {30, 10, 1});
    EXPECT_EQ(view.rank, 3);
    EXPECT_EQ(view.stride[0], 30);
    EXPECT_EQ(view.extent[2], 4);
    EXPECT_EQ(view.type, ATTUNE_F32);
    const TensorView of_two_strides(x, {2, 3, 4}, {12, 4});
    EXPECT_NE(softmax(of_two_strides, TensorView(x, {2, 3, 4})).message.find("x.rank is -1"), std::string::npos);
}

TEST(CppError, TheOtherOperationsGiveStatuses) {
    std::vector<float> x(12), y(12, 7.0f);
    const TensorView in(x.data(), {3, 4}), out(y.data(), {3, 4}), odd(y.data(), {4, 3});
    EXPECT_NE(softmax(in, odd).message.find("extent"), std::string::npos);
    EXPECT_NE(softmax(in, out, {-1, false, -1, nullptr, ""}).message.find("temperature"), std::string::npos);
    RotaryOptions of_three;
    of_three.rotary_dim = 3;
    EXPECT_NE(rotary(in, out, of_three).message.find("rotary_dim"), std::string::npos);
    EXPECT_NE(sinusoidal(out, {0, 0, ""}).message.find("base"), std::string::npos);
    EXPECT_EQ(y, std::vector<float>(12, 7.0f));
}

/** The message belongs to the calling thread, and to its last failed call. */
TEST(CppError, MessagesBelongToTheirThread) {
    std::vector<float> x(4);
    const TensorView view(x.data(), {1, 4});
    EXPECT_FALSE(softmax(view, view, {-1, false, -1, nullptr, ""}).ok());
    std::thread([&] {
        EXPECT_STREQ(attune_error_message(), "");
        EXPECT_FALSE(sinusoidal(view, {-5, 0, ""}).ok());
        EXPECT_NE(std::string(attune_error_message()).find("base"), std::string::npos);
    }).join();
    EXPECT_NE(std::string(attune_error_message()).find("temperature"), std::string::npos);
}

/** What a thread made before its first failed call goes after what it made since. */
struct FailsAtTheEnd {
    std::string *last = nullptr;
    ~FailsAtTheEnd() {
        attune_softmax(nullptr, nullptr);
        if (last) *last = attune_error_message();
    }
};

TEST(CppError, ACallMayFailWhileItsThreadEnds) {
    std::string last;
    std::thread([&] {
        thread_local FailsAtTheEnd first;
        first.last = &last;
        EXPECT_EQ(attune_softmax(nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
    }).join();
    EXPECT_EQ(last, "args is NULL");
}

TEST(CppError, InitialisingNothingIsFine) {
    attune_attention_args_init(nullptr);
    attune_softmax_args_init(nullptr);
    attune_rotary_args_init(nullptr);
    attune_sinusoidal_args_init(nullptr);
    EXPECT_EQ(attune_softmax(nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
}

} // namespace
} // namespace attune::test::cpp_error_test
