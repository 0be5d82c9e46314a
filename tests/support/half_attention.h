// Attention of f16 and bf16: its results, and the rule of accuracy for them.
#pragma once

#include <functional>
#include <vector>

#include "attention_oracle.h"
#include "attune/attune.hpp"
#include "half.h"

namespace attune::test {

struct HalfRun {
    Status status;
    std::vector<double> out, lse, weights; // weights may be empty
};

/** The problem with q, k and v rounded to the type. */
AttentionProblem rounded_inputs(attune_type type, const AttentionProblem &problem);

/** The textbook form, from exact scores, with scores, weights and outputs rounded to the type. */
HalfRun rounded_to(attune_type type, const AttentionProblem &problem, const AttentionAnswer &exact);

/** Expects errors of at most `factor` times those of `rounded_to`, plus one ulp of the type at max |v|. */
void expect_accurate(attune_type type, const AttentionProblem &problem, const HalfRun &got, double factor = 2);

/** Makes `value` of a key, and of what it stands for, in every head of a batch item. */
void spoil_key(const AttentionProblem &problem, int64_t item, int64_t key, float value);

/** Expects the same bits of a problem of two batch items with 97 keys, whatever the keys past an item's length hold. */
void expect_padding_changes_no_bit(AttentionProblem problem, const std::function<HalfRun(const AttentionProblem &)> &run);

} // namespace attune::test
