#include "run_attention.h"

#include <algorithm>
#include <sstream>

namespace attune::test {
namespace {

AttentionDesc desc_of(const AttentionProblem &problem) {
    AttentionDesc desc;
    desc.head_dim = problem.dim(), desc.value_dim = problem.value_dim(), desc.mask = problem.mask;
    return desc;
}

/** The optional tensors of a problem: what AttentionArgs points to while it runs. */
struct Optionals {
    attune_tensor lse, weights, boolean_mask, bias, key_lengths, offsets;
    Tensor<int32_t> lengths_data;
    Tensor<int64_t> offsets_data;
};

template <typename T> attune_tensor per_item(const std::vector<int64_t> &values, Tensor<T> &data) {
    data = Tensor<T>({static_cast<int64_t>(values.size())});
    for (size_t b = 0; b < values.size(); b++)
        data(b) = static_cast<T>(values[b]);
    return data.view();
}

void point_to_inputs(AttentionArgs &args, const AttentionProblem &problem, Optionals &optional) {
    if (problem.boolean_mask) optional.boolean_mask = problem.boolean_mask->view(), args.boolean_mask = &optional.boolean_mask;
    if (problem.bias) optional.bias = problem.bias->view(), args.bias = &optional.bias;
    if (!problem.key_lengths.empty())
        optional.key_lengths = per_item(problem.key_lengths, optional.lengths_data), args.key_lengths = &optional.key_lengths;
    if (!problem.offsets.empty()) optional.offsets = per_item(problem.offsets, optional.offsets_data), args.offsets = &optional.offsets;
    if (problem.offset) args.has_offset = 1, args.offset = *problem.offset;
    if (problem.scale) args.has_scale = 1, args.scale = *problem.scale;
    args.softcap = problem.softcap, args.temperature = problem.temperature;
}

AttentionRun run_plan(const AttentionPlan &plan, const AttentionProblem &problem, RunOptions &options) {
    AttentionRun run;
    run.out = Tensor<float>({problem.batch(), problem.query_heads(), problem.queries(), problem.value_dim()}, options.layout);
    run.lse = Tensor<float>({problem.batch(), problem.query_heads(), problem.queries()}, {{}, options.layout.padding});
    run.weights = Tensor<float>({problem.batch(), problem.query_heads(), problem.queries(), problem.keys()}, {{}, options.layout.padding});
    Optionals optional;
    AttentionArgs args(problem.q.view(), problem.k.view(), problem.v.view(), run.out.view());
    if (options.lse) optional.lse = run.lse.view(), args.lse = &optional.lse;
    if (options.weights) optional.weights = run.weights.view(), args.weights = &optional.weights;
    point_to_inputs(args, problem, optional);
    run.status = plan.run(args, options.call);
    run.workspace_bytes = options.call.workspace_bytes;
    return run;
}

/** Rows that attend to nothing give exactly zero and lse -inf; every masked cell's weight is exactly zero. */
void expect_exact_zeros(const AttentionRun &run, const AttentionAnswer &exact) {
    const std::vector<float> out = run.out.values(), lse = run.lse.values(), weights = run.weights.values();
    size_t wrong = 0;
    for (size_t row = 0; row < lse.size(); row++)
        wrong += exact.attends_nothing[row] && lse[row] != -INFINITY;
    EXPECT_EQ(wrong, 0u) << "rows of nothing whose lse isn't -inf";
    wrong = 0;
    for (size_t place = 0; place < out.size(); place++)
        wrong += exact.attends_nothing[place / (out.size() / lse.size())] && out[place] != 0;
    EXPECT_EQ(wrong, 0u) << "outputs of rows of nothing that aren't 0";
    wrong = 0;
    for (size_t cell = 0; cell < weights.size(); cell++)
        wrong += exact.masked[cell] && weights[cell] != 0;
    EXPECT_EQ(wrong, 0u) << "masked weights that aren't 0";
}

} // namespace

AttentionRun run_attention(const attune_kernel &kernel, const AttentionProblem &problem, RunOptions options) {
    AttentionDesc desc = desc_of(problem);
    desc.schedule = kernel.schedule;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    if (!plan.ok()) return {plan.status(), {}, {}, {}, 0};
    const std::string planned = plan.value().kernel().name;
    if (planned != kernel.name) return {{ATTUNE_INTERNAL, "the plan chose " + planned + " instead of " + kernel.name}, {}, {}, {}, 0};
    return run_plan(plan.value(), problem, options);
}

AttentionRun run_attention(const std::string &schedule, const AttentionProblem &problem, RunOptions options) {
    AttentionDesc desc = desc_of(problem);
    desc.schedule = schedule;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    return plan.ok() ? run_plan(plan.value(), problem, options) : AttentionRun{plan.status(), {}, {}, {}, 0};
}

void expect_agrees_with_oracle(const AttentionRun &run, const AttentionProblem &problem, const Judgement &judgement) {
    ASSERT_EQ(run.status.code, ATTUNE_OK) << run.status.message;
    const AttentionAnswer exact = attention_in_double(problem);
    const RoundingError rounding = rounding_error(problem, exact);
    const double largest_v = largest_magnitude(to_double(problem.v));
    EXPECT_TRUE(agrees(to_double(run.out), exact.out, twice(rounding.out, largest_v), judgement.finite_share)) << "out";
    if (judgement.unit_normal) {
        EXPECT_TRUE(agrees(to_double(run.out), exact.out, {4e-6 * largest_v}, judgement.finite_share)) << "out, 4e-6 of max |v|";
    }
    // A log-sum-exp near 0 is the difference of a maximum and a logarithm of ordinary size: hence at least the ulp of 1.
    const double largest_lse = std::max(1.0, largest_magnitude(exact.lse));
    EXPECT_TRUE(agrees(to_double(run.lse), exact.lse, twice(rounding.lse, largest_lse), 0)) << "lse";
    EXPECT_TRUE(agrees(to_double(run.weights), exact.weights, twice(rounding.weights, 1), judgement.finite_share)) << "weights";
    expect_exact_zeros(run, exact);
    EXPECT_TRUE(run.out.canaries_intact()) << "written beside out";
    EXPECT_TRUE(run.lse.canaries_intact()) << "written beside lse";
    EXPECT_TRUE(run.weights.canaries_intact()) << "written beside weights";
}

void expect_matches_oracle(const attune_kernel &kernel, const AttentionProblem &problem, const Judgement &judgement,
                           const RunOptions &options) {
    SCOPED_TRACE(describe(problem));
    expect_agrees_with_oracle(run_attention(kernel, problem, options), problem, judgement);
}

std::string describe(const AttentionProblem &p) {
    std::ostringstream text;
    text << "B " << p.batch() << " Hq " << p.query_heads() << " Hkv " << p.key_heads() << " N " << p.queries() << " M " << p.keys() << " D "
         << p.dim() << " Dv " << p.value_dim() << " mask '" << p.mask << "'";
    if (p.offset) text << " offset " << *p.offset;
    for (int64_t offset : p.offsets)
        text << " offsets: " << offset;
    for (int64_t length : p.key_lengths)
        text << " length: " << length;
    if (p.boolean_mask) text << ::testing::PrintToString(p.boolean_mask->extent) << " boolean mask";
    if (p.bias) text << ::testing::PrintToString(p.bias->extent) << " bias";
    if (p.scale) text << " scale " << *p.scale;
    text << " softcap " << p.softcap << " temperature " << p.temperature;
    return text.str();
}

} // namespace attune::test
