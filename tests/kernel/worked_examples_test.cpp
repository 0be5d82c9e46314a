// The worked examples, by every kernel that can run them and by Attune's own choice.
#include <algorithm>

#include "attention_test.h"
#include "golden_problems.h"

namespace attune::test {
namespace {

constexpr Tolerance published{2e-6}; // decimals held in f32, results below 10

void expect_example(const AttentionRun &run, const golden::AttentionExample &example) {
    ASSERT_TRUE(run.status.ok()) << run.status.message;
    EXPECT_TRUE(agrees(to_double(run.weights), golden::flat(example.weights), published)) << example.name << ", weights";
    EXPECT_TRUE(agrees(to_double(run.out), golden::flat(example.output), {published.absolute * 4})) << example.name << ", output";
}

TEST(WorkedExamples, ByAttunesChoice) {
    for (const golden::AttentionExample &example : golden::attention_examples())
        expect_example(run_attention("", example.problem), example);
}

TEST(WorkedExamples, ByEverySchedule) {
    for (const std::string &schedule : schedules_of("attention"))
        for (const golden::AttentionExample &example : golden::attention_examples()) {
            SCOPED_TRACE(schedule);
            expect_example(run_attention(schedule, example.problem), example);
        }
}

TEST(WorkedExamples, SoftmaxByTemperature) {
    const Tensor<float> x = golden::tensor_of({golden::softmax_temperature::logits});
    for (const std::string &schedule : schedules_of("softmax"))
        for (const auto &[temperature, expected] : golden::softmax_temperature::by_temperature) {
            const Tensor<float> y({1, 1, 1, 3});
            const Status status = softmax(x.view(), y.view(), {static_cast<float>(temperature), false, -1, nullptr, schedule});
            ASSERT_TRUE(status.ok()) << status.message;
            EXPECT_TRUE(agrees(to_double(y), expected, published)) << schedule << ", T " << temperature;
        }
}

TEST(WorkedExamples, SinusoidalTable) {
    for (const std::string &schedule : schedules_of("sinusoidal")) {
        const Tensor<float> y({5, 8});
        const Status status = sinusoidal(y.view(), {10000.0, 0, schedule});
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(agrees(to_double(y), golden::flat(golden::sinusoidal::table), {1e-6})) << schedule;
    }
}

/** A row added to the variant list of an operation or type that no suite here runs would be untested: this says so. */
TEST(Prebuilt, EveryKernelHasASuite) {
    const std::vector<std::string> in_16_bits = {
        "attention", "attention_weights", "rotary_half", "rotary_interleaved", "sinusoidal",  "add_positions",      "linear", "layer_norm",
        "rms_norm",  "row_sum",           "softmax",     "softmax_columns",    "log_softmax", "log_softmax_columns"};
    const std::vector<std::string> in_32_bits = {"log_sum_exp",  "log_sum_exp_columns", "merge",
                                                 "alibi_slopes", "relative_bias",       "rotary_table"};
    ASSERT_GT(attune_kernel_count(), 0);
    for (int32_t index = 0; index < attune_kernel_count(); index++) {
        const attune_kernel &kernel = *attune_kernel_at(index);
        if (kernel.device != ATTUNE_CPU) continue; // tests/cuda runs those
        const bool any_type = std::find(in_16_bits.begin(), in_16_bits.end(), kernel.operation) != in_16_bits.end();
        const bool f32_only = std::find(in_32_bits.begin(), in_32_bits.end(), kernel.operation) != in_32_bits.end();
        EXPECT_TRUE(any_type || (f32_only && kernel.dtype == ATTUNE_F32)) << kernel.name << ": " << kernel.operation;
        EXPECT_STREQ(kernel.mask, "") << kernel.name << ": the suites give masks at run time only";
    }
    EXPECT_EQ(attune_kernel_at(attune_kernel_count()), nullptr);
    EXPECT_EQ(attune_kernel_at(-1), nullptr);
}

TEST(Prebuilt, NamesAreUnique) {
    std::vector<std::string> names;
    for (int32_t index = 0; index < attune_kernel_count(); index++)
        names.push_back(attune_kernel_at(index)->name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

} // namespace
} // namespace attune::test
