// A problem through one kernel, and its answer against the oracle.
#pragma once

#include <string>
#include <vector>

#include "attention_oracle.h"
#include "attune/attune.hpp"
#include "compare.h"
#include "half_attention.h"
#include "kernels.h"

namespace attune::test {

struct AttentionRun {
    Status status;
    Tensor<float> out, lse, weights, scores; // untouched where not asked for
    size_t workspace_bytes = 0;
};

struct RunOptions {
    bool lse = true, weights = true;
    Layout layout; // of out; lse and weights are padded likewise
    Call call;
    attune_score_stage stage = {};    // of `scores`; none unless set
    std::vector<int32_t> params = {}; // of a kernel of one's own
};

/** Runs the problem by the kernel's schedule; an error unless the plan chooses exactly this kernel. */
AttentionRun run_attention(const attune_kernel &kernel, const AttentionProblem &problem, RunOptions options = {});

/** Runs it by the schedule's name; "" lets Attune choose. */
AttentionRun run_attention(const std::string &schedule, const AttentionProblem &problem, RunOptions options = {});

/** Runs the problem by a kernel of f16 or bf16, with q, k and v rounded to its type; asks for log-sum-exp and weights, too. */
HalfRun run_half_attention(const attune_kernel &kernel, const AttentionProblem &problem);

/** Runs a kernel of attune_add_kernel, whose compiled-in texts say what the problem's mask, score and position are. */
AttentionRun run_own_kernel(const attune_kernel &kernel, const AttentionProblem &problem, RunOptions options = {});

/** The same of a kernel of f16 or bf16; of the options, `weights` and `params` count. */
HalfRun run_own_half_kernel(const attune_kernel &kernel, const AttentionProblem &problem, const RunOptions &options = {});

/** How a result is judged. */
struct Judgement {
    bool unit_normal = false; // q, k and v are unit-normal, scale and temperature the defaults: 4e-6 of max |v| binds too
    double finite_share = 0.5;
};

/** Runs with lse and weights, and expects all three to agree with the oracle by the rule of accuracy, and memory around them intact. */
void expect_matches_oracle(const attune_kernel &kernel, const AttentionProblem &problem, const Judgement &judgement = {},
                           const RunOptions &options = {});

/** Runs with the scores of each stage, and expects them to agree with the oracle. */
void expect_scores_match_oracle(const attune_kernel &kernel, const AttentionProblem &problem);

/** expect_matches_oracle for a run already made. */
void expect_agrees_with_oracle(const AttentionRun &run, const AttentionProblem &problem, const Judgement &judgement = {});

/** The part of it that is about output and log-sum-exp of f32. */
void expect_accurate_in_float(const std::vector<double> &out, const std::vector<double> &lse, const AttentionProblem &problem,
                              const AttentionAnswer &exact, Rounding &rounding, const Judgement &judgement = {});

/** A line of text that says which problem it is, for SCOPED_TRACE. */
std::string describe(const AttentionProblem &problem);

} // namespace attune::test
