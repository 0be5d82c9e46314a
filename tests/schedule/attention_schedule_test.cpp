// Every schedule of attention, for every machine: right on an awkward problem, and in agreement with every other.
#include <map>

#include "compare.h"
#include "jit_attention.h"
#include "schedules/table.h"
#include "targets.h"

namespace attune::test {
namespace {

struct Entry {
    Halide::Target target;
    int head_dim; // compiled in, or 0
};

/** 37 queries and 53 keys are multiples of no tile; two query heads share a key/value head; rows of one batch item are empty. */
AttentionProblem awkward(Random &random) {
    AttentionProblem p = normal_problem({2, 4, 2, 37, 53, 20, 20}, random);
    p.mask = "causal";
    p.offsets = {16, -3};
    p.bias = Tensor<float>({1, 4, 37, 53});
    random.fill_normal(*p.bias);
    p.softcap = 3;
    return p;
}

class AttentionSchedule : public SeededTestWithParam<Entry> {
protected:
    JitResult run(const schedules::AttentionSchedule &schedule, const AttentionProblem &problem) const {
        const schedules::Machine machine = schedules::machine(GetParam().target);
        JitAttention jit(GetParam().head_dim);
        schedule.apply(jit.declare(schedule.shape(machine, GetParam().head_dim, jit.inputs().keys)), machine);
        jit.compile(GetParam().target);
        return jit.run(problem);
    }
};

std::vector<Entry> entries() {
    std::vector<Entry> all;
    for (const Halide::Target &target : runnable_targets())
        for (int head_dim : {0, 20})
            all.push_back({target, head_dim});
    return all;
}
std::string name(const ::testing::TestParamInfo<Entry> &info) {
    return name_of_target(info.param.target) + (info.param.head_dim == 0 ? "_any" : "_d" + std::to_string(info.param.head_dim));
}
INSTANTIATE_TEST_SUITE_P(Machines, AttentionSchedule, ::testing::ValuesIn(entries()), name);

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
} // namespace attune::test
