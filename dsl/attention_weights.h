// The attention weights, from the log-sum-exp that attention gives: what flash attention never stores. Or the scores on their way to it.
#pragma once

#include "dsl/attention.h"

namespace attune::dsl {

/** What is asked for: the weights, or the scores after one of their stages. */
enum class WeightsStage { weights, scaled, capped, masked };

struct AttentionWeights {
    Halide::Func query;   // (token, dim, head, batch), scaled; tokens side by side
    Halide::Func dot;     // (token, key, head, batch): scale q k^T
    Halide::Func score;   // (token, key, head, batch): soft-capped
    Halide::Func allowed; // (token, key, head, batch): run-time mask, 0 or 1
    Halide::Func biased;  // (token, key, head, batch): after biases
    Halide::Func weight;  // (token, key, head, batch): e^(s / T - lse), 0 where masked; or the score asked for
    Halide::Func
        sum; // (token, head, batch): of the weights and the sink's; 1 but for the rounding of the log-sum-exp, which this takes out
    Halide::Func rows;   // (token, key, head, batch): weight / sum, less what is dropped; or the score
    Halide::Func result; // (key, token, head, batch): the same, as the caller stores it
    Halide::RDom dims, intervals, keys;
};

/** `lse`: f32 (token, head, batch), as attention gives it for the same inputs. `stage`: a WeightsStage as an i32. `inputs.value` is not
 * read. */
AttentionWeights attention_weights(const AttentionInputs &inputs, const Halide::Func &lse, const Halide::Expr &stage);

} // namespace attune::dsl
