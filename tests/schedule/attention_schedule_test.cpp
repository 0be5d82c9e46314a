// Every schedule of attention, for every machine: right on an awkward problem, and in agreement with every other.
#include <map>

#include "compare.h"
#include "jit_attention.h"
#include "schedules/passes.h"
#include "schedules/table.h"
#include "targets.h"

namespace attune::test::attention_schedule_test {
namespace {

constexpr int head_dim = 20; // compiled in; schedules for any width are what prebuilt kernels have, and are tried with them

/** 37 queries and 53 keys are multiples of no tile; two query heads share a key/value head; rows of one batch item are empty. */
AttentionProblem awkward(Random &random) {
    AttentionProblem p = normal_problem({2, 4, 2, 37, 53, head_dim, head_dim}, random);
    p.mask = "causal";
    p.offsets = {16, -3};
    p.bias = Tensor<float>({1, 4, 37, 53});
    random.fill_normal(*p.bias);
    p.softcap = 3;
    return p;
}

class AttentionSchedule : public SeededTestWithParam<Halide::Target> {
protected:
    JitResult run(const schedules::AttentionSchedule &schedule, const AttentionProblem &problem) const {
        const schedules::Machine machine = schedules::machine(GetParam());
        JitAttention jit(head_dim);
        const dsl::Attention attention = jit.declare(schedule.shape(machine, head_dim, jit.inputs().keys));
        schedule.apply(attention, machine);
        schedules::add_passes(jit.pipeline, attention, machine);
        jit.compile(GetParam());
        return jit.run(problem);
    }
};

std::string name(const ::testing::TestParamInfo<Halide::Target> &info) { return name_of_target(info.param); }
INSTANTIATE_TEST_SUITE_P(Machines, AttentionSchedule, ::testing::ValuesIn(runnable_targets()), name);

TEST_P(AttentionSchedule, EveryEntryIsExactAndAgreesWithEveryOther) {
    const AttentionProblem problem = awkward(random);
    std::map<std::string, JitResult> results;
    for (const schedules::AttentionSchedule &schedule : schedules::attention_schedules()) {
        if (std::string(schedule.device) != "x86") continue;
        SCOPED_TRACE(schedule.name);
        const JitResult result = run(schedule, problem);
        expect_exact(result, problem);
        for (const auto &[other, its_result] : results) {
            EXPECT_TRUE(agrees(to_double(result.out), to_double(its_result.out), {4e-6, 0, 0})) << "against " << other;
            EXPECT_TRUE(agrees(to_double(result.lse), to_double(its_result.lse), {4e-6, 0, 0})) << "against " << other;
        }
        results[schedule.name] = result;
    }
}

} // namespace
} // namespace attune::test::attention_schedule_test
