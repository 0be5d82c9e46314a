#include "run_attention.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <sstream>

namespace attune::test {
namespace {

AttentionDesc desc_of(const AttentionProblem &problem) {
    AttentionDesc desc;
    desc.head_dim = problem.dim(), desc.value_dim = problem.value_dim();
    desc.mask = problem.mask, desc.score = problem.score_text(), desc.position = problem.position_text();
    return desc;
}

/** The optional tensors of a problem: what AttentionArgs points to while it runs. */
class Optionals {
public:
    template <typename T> const attune_tensor *add(const Tensor<T> &tensor) { return &views_.emplace_back(tensor.view()); }
    template <typename T> const attune_tensor *add(const std::optional<Tensor<T>> &tensor) { return tensor ? add(*tensor) : nullptr; }
    /** Integers of rank 1; nullptr if there are none. */
    template <typename T> const attune_tensor *add_integers(const std::vector<int64_t> &values) {
        if (values.empty()) return nullptr;
        const Tensor<T> tensor({static_cast<int64_t>(values.size())});
        for (size_t i = 0; i < values.size(); i++)
            tensor(i) = static_cast<T>(values[i]);
        memory_.push_back(tensor.memory);
        return add(tensor);
    }

private:
    std::deque<attune_tensor> views_; // which stay where they are
    std::vector<std::shared_ptr<void>> memory_;
};

void point_to_inputs(AttentionArgs &args, const AttentionProblem &problem, Optionals &optionals) {
    args.boolean_mask = optionals.add(problem.boolean_mask), args.bias = optionals.add(problem.bias);
    args.block_map = optionals.add(problem.block_map), args.sinks = optionals.add(problem.sinks);
    args.documents = optionals.add(problem.documents), args.query_documents = optionals.add(problem.query_documents);
    args.document_starts = optionals.add_integers<int32_t>(problem.document_starts);
    args.key_lengths = optionals.add_integers<int32_t>(problem.key_lengths);
    args.offsets = optionals.add_integers<int64_t>(problem.offsets);
    args.positions = optionals.add_integers<int32_t>(problem.positions);
    args.key_positions = optionals.add_integers<int64_t>(problem.key_positions);
    args.position_table = optionals.add(problem.learned);
    if (problem.t5) args.t5_table = optionals.add(problem.t5->table);
}

void set_numbers(AttentionArgs &args, const AttentionProblem &problem) {
    if (problem.offset) args.has_offset = 1, args.offset = *problem.offset;
    if (problem.scale) args.has_scale = 1, args.scale = *problem.scale;
    args.softcap = problem.softcap, args.temperature = problem.temperature;
    args.dropout = problem.dropout, args.seed = problem.seed;
}

/** A plan that chooses the kernel, and no other. */
Result<AttentionPlan> plan_of(const attune_kernel &kernel, const AttentionProblem &problem) {
    AttentionDesc desc = desc_of(problem);
    desc.dtype = kernel.dtype, desc.schedule = kernel.schedule;
    Result<AttentionPlan> plan = AttentionPlan::create(desc);
    if (!plan.ok()) return plan;
    const std::string planned = plan.value().kernel().name;
    if (planned == kernel.name) return plan;
    return Status{ATTUNE_INTERNAL, "the plan chose " + planned + " instead of " + kernel.name};
}

Result<AttentionPlan> plan_of_own(const attune_kernel &kernel, const AttentionProblem &problem) {
    AttentionDesc desc;
    desc.head_dim = problem.dim(), desc.value_dim = problem.value_dim(), desc.kernel = &kernel, desc.dtype = kernel.dtype;
    return AttentionPlan::create(desc);
}

AttentionRun run_plan(const AttentionPlan &plan, const AttentionProblem &problem, RunOptions &options) {
    AttentionRun run;
    run.out = Tensor<float>({problem.batch(), problem.query_heads(), problem.queries(), problem.value_dim()}, options.layout);
    run.lse = Tensor<float>({problem.batch(), problem.query_heads(), problem.queries()}, {{}, options.layout.padding});
    run.weights = Tensor<float>({problem.batch(), problem.query_heads(), problem.queries(), problem.keys()}, {{}, options.layout.padding});
    run.scores = run.weights.clone();
    Optionals optionals;
    AttentionArgs args(problem.q.view(), problem.k.view(), problem.v.view(), run.out.view());
    if (options.lse) args.lse = optionals.add(run.lse);
    if (options.weights) args.weights = optionals.add(run.weights);
    if (options.stage != 0) args.scores = optionals.add(run.scores), args.score_stage = options.stage;
    point_to_inputs(args, problem, optionals);
    set_numbers(args, problem);
    args.params = options.params.data(), args.param_count = static_cast<int32_t>(options.params.size());
    run.status = plan.run(args, options.call);
    run.workspace_bytes = options.call.workspace_bytes;
    return run;
}

HalfRun run_half_plan(const AttentionPlan &plan, const AttentionProblem &problem, const RunOptions &options) {
    const attune_type type = plan.kernel().dtype;
    const HalfTensor q(type, problem.q), k(type, problem.k), v(type, problem.v);
    const Extents rows = {problem.batch(), problem.query_heads(), problem.queries()};
    const HalfTensor out(type, Tensor<float>({rows[0], rows[1], rows[2], problem.value_dim()}));
    const Tensor<float> lse(rows), weights({rows[0], rows[1], rows[2], problem.keys()});
    Optionals optionals;
    AttentionArgs args(q.view(), k.view(), v.view(), out.view());
    args.lse = optionals.add(lse);
    if (options.weights) args.weights = optionals.add(weights);
    point_to_inputs(args, problem, optionals);
    set_numbers(args, problem);
    args.params = options.params.data(), args.param_count = static_cast<int32_t>(options.params.size());
    const Status status = plan.run(args);
    return {status, out.values(), to_double(lse), options.weights ? to_double(weights) : std::vector<double>()};
}

AttentionRun failed(const Status &status) {
    AttentionRun run;
    run.status = status;
    return run;
}

/** Agreement by the rule of accuracy, of the output whose error `error` is. */
::testing::AssertionResult agrees_by_rule(Rounding &rounding, double RoundingError::*error, const std::vector<double> &got,
                                          const std::vector<double> &want, double magnitude, double finite_share) {
    return within_rounding(rounding,
                           [&](const RoundingError &allowed) { return agrees(got, want, twice(allowed.*error, magnitude), finite_share); });
}

/** Rows that attend to nothing give exactly zero and, without a sink, lse -inf; the weight of a cell masked or dropped is exactly zero. */
void expect_exact_zeros(const AttentionRun &run, const AttentionAnswer &exact) {
    const std::vector<float> out = run.out.values(), lse = run.lse.values(), weights = run.weights.values();
    size_t wrong = 0;
    for (size_t row = 0; row < lse.size(); row++)
        wrong += exact.lse[row] == -INFINITY && lse[row] != -INFINITY;
    EXPECT_EQ(wrong, 0u) << "rows of nothing whose lse isn't -inf";
    wrong = 0;
    for (size_t place = 0; place < out.size(); place++)
        wrong += exact.attends_nothing[place / (out.size() / lse.size())] && out[place] != 0;
    EXPECT_EQ(wrong, 0u) << "outputs of rows of nothing that aren't 0";
    wrong = 0;
    for (size_t cell = 0; cell < weights.size(); cell++)
        wrong += (exact.masked[cell] || exact.dropped[cell]) && weights[cell] != 0;
    EXPECT_EQ(wrong, 0u) << "masked or dropped weights that aren't 0";
}

} // namespace

AttentionRun run_attention(const attune_kernel &kernel, const AttentionProblem &problem, RunOptions options) {
    const Result<AttentionPlan> plan = plan_of(kernel, problem);
    return plan.ok() ? run_plan(plan.value(), problem, options) : failed(plan.status());
}

HalfRun run_half_attention(const attune_kernel &kernel, const AttentionProblem &problem) {
    const Result<AttentionPlan> plan = plan_of(kernel, problem);
    return plan.ok() ? run_half_plan(plan.value(), problem, {}) : HalfRun{plan.status(), {}, {}, {}};
}

AttentionRun run_attention(const std::string &schedule, const AttentionProblem &problem, RunOptions options) {
    AttentionDesc desc = desc_of(problem);
    desc.schedule = schedule;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    return plan.ok() ? run_plan(plan.value(), problem, options) : failed(plan.status());
}

AttentionRun run_own_kernel(const attune_kernel &kernel, const AttentionProblem &problem, RunOptions options) {
    const Result<AttentionPlan> plan = plan_of_own(kernel, problem);
    return plan.ok() ? run_plan(plan.value(), problem, options) : failed(plan.status());
}

HalfRun run_own_half_kernel(const attune_kernel &kernel, const AttentionProblem &problem, const RunOptions &options) {
    const Result<AttentionPlan> plan = plan_of_own(kernel, problem);
    return plan.ok() ? run_half_plan(plan.value(), problem, options) : HalfRun{plan.status(), {}, {}, {}};
}

void expect_scores_match_oracle(const attune_kernel &kernel, const AttentionProblem &problem) {
    SCOPED_TRACE(describe(problem));
    const AttentionAnswer exact = attention_in_double(problem);
    Rounding rounding(problem, exact);
    const struct {
        attune_score_stage stage;
        const std::vector<double> &scores;
        double RoundingError::*error;
    } stages[] = {{ATTUNE_SCORES_SCALED, exact.scaled, &RoundingError::scaled},
                  {ATTUNE_SCORES_CAPPED, exact.capped, &RoundingError::capped},
                  {ATTUNE_SCORES_MASKED, exact.biased, &RoundingError::biased}};
    for (const auto &[stage, scores, error] : stages) {
        RunOptions options;
        options.stage = stage;
        const AttentionRun run = run_attention(kernel, problem, options);
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        EXPECT_TRUE(agrees_by_rule(rounding, error, to_double(run.scores), scores, largest_magnitude(scores), 0.1)) << "stage " << stage;
        EXPECT_TRUE(run.scores.canaries_intact()) << "written beside the scores";
    }
}

void expect_accurate_in_float(const std::vector<double> &out, const std::vector<double> &lse, const AttentionProblem &problem,
                              const AttentionAnswer &exact, Rounding &rounding, const Judgement &judgement) {
    const double largest_v = largest_magnitude(to_double(problem.v));
    EXPECT_TRUE(agrees_by_rule(rounding, &RoundingError::out, out, exact.out, largest_v, judgement.finite_share)) << "out";
    if (judgement.unit_normal) {
        EXPECT_TRUE(agrees(out, exact.out, {4e-6 * largest_v}, judgement.finite_share)) << "out, 4e-6 of max |v|";
    }
    // A log-sum-exp near 0 is the difference of a maximum and a logarithm of ordinary size: hence at least the ulp of 1.
    const double largest_lse = std::max(1.0, largest_magnitude(exact.lse));
    EXPECT_TRUE(agrees_by_rule(rounding, &RoundingError::lse, lse, exact.lse, largest_lse, 0)) << "lse";
}

void expect_agrees_with_oracle(const AttentionRun &run, const AttentionProblem &problem, const Judgement &judgement) {
    ASSERT_EQ(run.status.code, ATTUNE_OK) << run.status.message;
    const AttentionAnswer exact = attention_in_double(problem);
    Rounding rounding(problem, exact);
    expect_accurate_in_float(to_double(run.out), to_double(run.lse), problem, exact, rounding, judgement);
    EXPECT_TRUE(agrees_by_rule(rounding, &RoundingError::weights, to_double(run.weights), exact.weights, 1, judgement.finite_share))
        << "weights";
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
    if (p.block_map) text << ::testing::PrintToString(p.block_map->extent) << " block map";
    if (p.documents) text << ::testing::PrintToString(p.documents->extent) << " documents";
    if (p.scale) text << " scale " << *p.scale;
    text << " softcap " << p.softcap << " score '" << p.score_text() << "' position '" << p.position_text() << "' temperature "
         << p.temperature << (p.sinks ? " with sinks" : "") << " dropout " << p.dropout;
    return text.str();
}

} // namespace attune::test
