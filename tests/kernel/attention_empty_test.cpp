// Every attention kernel where there is nothing to attend to, or nothing to compute.
#include "attention_test.h"

namespace attune::test {
namespace {

ATTUNE_ATTENTION_SUITE(AttentionEmpty);

TEST_P(AttentionEmpty, RowsThatAttendToNothingAmongOthers) {
    for (const char *mask : {"causal(bottom_right)", "prefix(0)", "window(2,2,top_left) & !window(4,4,top_left)"}) {
        AttentionProblem p = problem(49, 13, 2, 4, 2);
        p.mask = mask;
        expect_right(p);
    }
}

TEST_P(AttentionEmpty, RowsOfABooleanMask) {
    AttentionProblem p = problem(25, 49);
    p.boolean_mask = Tensor<uint8_t>({1, 1, 25, 49});
    p.boolean_mask->fill(1);
    for (int64_t i : {0, 11, 12, 24})
        for (int64_t j = 0; j < 49; j++)
            (*p.boolean_mask)(0, 0, i, j) = 0;
    expect_right(p);
    p.boolean_mask->fill(0);
    expect_right(p);
}

TEST_P(AttentionEmpty, RowsOfInfinitelyNegativeBias) {
    AttentionProblem p = problem(25, 49);
    p.bias = bias({1, 2, 25, 49});
    p.bias->each([&](float &value) { value = random.chance(0.4) ? -INFINITY : value; });
    for (int64_t i : {0, 12, 24})
        for (int64_t j = 0; j < 49; j++)
            (*p.bias)(0, 1, i, j) = -INFINITY;
    expect_right(p);
    p.bias->fill(-INFINITY);
    expect_right(p);
}

TEST_P(AttentionEmpty, NothingWhateverTheValuesHold) {
    AttentionProblem p = problem(25, 49);
    for (const Tensor<float> &tensor : {p.q, p.k, p.v})
        tensor.fill(NAN);
    p.mask = "prefix(0)";
    expect_right(p);
}

TEST_P(AttentionEmpty, NoKeys) {
    expect_right(problem(13, 0, 2));
    AttentionProblem p = problem(13, 0, 2);
    p.mask = "causal", p.offset = 4, p.key_lengths = {0, 0};
    expect_right(p);
}

TEST_P(AttentionEmpty, NoKeysAndNullPointers) {
    AttentionProblem p = problem(13, 0);
    AttentionDesc desc;
    desc.head_dim = p.dim(), desc.value_dim = p.value_dim(), desc.schedule = kernel().schedule;
    Result<AttentionPlan> plan = AttentionPlan::create(desc);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    const Tensor<float> out({1, 2, 13, p.value_dim()});
    AttentionArgs args(p.q.view(), p.k.view(), p.v.view(), out.view());
    args.k.data = args.v.data = nullptr; // as an empty std::vector gives
    const Status status = plan->run(args);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(out.values(), std::vector<float>(out.elements(), 0.0f));
}

TEST_P(AttentionEmpty, NoQueriesNoBatchNoHeads) {
    for (const AttentionProblem &p : {problem(0, 13), problem(13, 33, 0), problem(0, 0, 0), problem(13, 33, 1, 0, 2)}) {
        const AttentionRun run = run_attention(kernel(), p);
        EXPECT_TRUE(run.status.ok()) << run.status.message;
        EXPECT_TRUE(run.out.untouched() && run.lse.untouched() && run.weights.untouched()) << describe(p);
    }
}

} // namespace
} // namespace attune::test
