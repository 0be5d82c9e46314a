// The attention weights, which flash attention never stores, in a pass of their own. Or the scores on their way to them.
#pragma once

#include "dsl/attention/attention.h"

namespace attune::dsl {

/** What is asked for: the weights, or the scores after one of their stages. */
enum class WeightsStage { weights, scaled, capped, masked };

struct AttentionWeights {
    Halide::Func query; // (token, dim, head, batch), scaled; tokens side by side
    Halide::Func dot;   // (token, key, head, batch): scale q k^T
    Halide::Func score; // (token, key, head, batch): soft-capped
    Halide::Func
        allowed; // (token, key, head, batch): 1 where the run-time mask allows it, 0 where not, -1 where a compiled-in one forbids it
    Halide::Func biased;  // (token, key, head, batch): after biases
    Halide::Func asked;   // (token, key, head, batch): the score asked for, or for the weights that after all stages, -inf where masked
    Halide::Func maximum; // (token, head, batch): over all keys
    Halide::Func part_sum, sum; // (token, part, head, batch) and (token, head, batch): of e^((s - maximum) / T)
    Halide::Func joined;        // (token, head, batch): by what the sink makes weights less, and the sum with it
    Halide::Func rows;          // (token, key, head, batch): the weight, less what is dropped; or the score
    Halide::Func result;        // (key, token, head, batch): the same, as the caller stores it
    Halide::RDom dims, intervals, keys, keys_of_part, parts;
};

/** `lse`: f32 (token, head, batch), as attention gives it for the same inputs; where it is NaN, so is each weight that isn't masked.
 * `stage`: a WeightsStage as an i32. `inputs.value` is not read. */
AttentionWeights attention_weights(const AttentionInputs &inputs, const Halide::Func &lse, const Halide::Expr &stage);

} // namespace attune::dsl
