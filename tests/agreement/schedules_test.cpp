// Schedules of one declaration against each other, and the ways to say one mask.
#include "agreement_test.h"

namespace attune::test {
namespace {

ATTUNE_AGREEMENT_SUITE(Schedules);

/** What two results within the rule of accuracy may differ by. */
Tolerance between_two(double rounding_error, double magnitude) { return {4 * rounding_error, 2, magnitude}; }

TEST_P(Schedules, AgreeWithAttunesChoice) {
    for (const AttentionProblem &p : problems()) {
        const AttentionRun got = run(p), chosen = run_attention("", p);
        ASSERT_TRUE(got.status.ok() && chosen.status.ok()) << got.status.message << chosen.status.message;
        const AttentionAnswer exact = attention_in_double(p);
        Rounding rounding(p, exact);
        const double largest_v = largest_magnitude(to_double(p.v)), largest_lse = std::max(1.0, largest_magnitude(exact.lse));
        SCOPED_TRACE(describe(p));
        EXPECT_TRUE(within_rounding(rounding, [&](const RoundingError &error) {
            return agrees(to_double(got.out), to_double(chosen.out), between_two(error.out, largest_v));
        }));
        EXPECT_TRUE(within_rounding(rounding, [&](const RoundingError &error) {
            return agrees(to_double(got.lse), to_double(chosen.lse), between_two(error.lse, largest_lse), 0);
        }));
        EXPECT_TRUE(within_rounding(rounding, [&](const RoundingError &error) {
            return agrees(to_double(got.weights), to_double(chosen.weights), between_two(error.weights, 1));
        }));
    }
}

/** One mask said as text, as a boolean tensor and as a bias of -inf: the same result within the rule. */
TEST_P(Schedules, OneMaskSaidThreeWays) {
    AttentionProblem text = normal_problem(shape(37, 65, 2, 2, 1), random);
    text.mask = "causal(bottom_right) & window(20,-1,bottom_right) | prefix(2)";
    const AttentionAnswer exact = attention_in_double(text);
    AttentionProblem boolean = text, bias = text;
    boolean.mask = bias.mask = "none";
    boolean.boolean_mask = Tensor<uint8_t>({2, 2, 37, 65}), bias.bias = Tensor<float>({2, 2, 37, 65});
    size_t cell = 0;
    boolean.boolean_mask->each([&](uint8_t &value) { value = !exact.masked[cell++]; });
    cell = 0;
    bias.bias->each([&](float &value) { value = exact.masked[cell++] ? -INFINITY : 0.0f; });
    for (const AttentionProblem &p : {text, boolean, bias})
        expect_agrees_with_oracle(run(p), text);
}

TEST(ChosenSchedule, IsNamedByItsPlan) {
    for (const attune_kernel *kernel : kernels_of("attention")) {
        AttentionDesc desc;
        desc.head_dim = head_dim_or(*kernel, 20), desc.value_dim = value_dim_or(*kernel, 12), desc.schedule = kernel->schedule;
        const Result<AttentionPlan> plan = AttentionPlan::create(desc);
        ASSERT_TRUE(plan.ok()) << plan.status().message;
        EXPECT_STREQ(plan.value().kernel().name, kernel->name) << "the kernel of these widths, or the one of any";
    }
}

} // namespace
} // namespace attune::test
