// What the texts of a score and a position make of one run's tensors before the attention kernel: biases by distance, tables of positions,
// and q and k with their positions.
#pragma once

#include "runtime/src/attention/checks.h"
#include "runtime/src/attention/plan.h"
#include "runtime/src/attention/positions.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/position/relative_bias.h"

namespace attune::runtime {

/** What q k^T is multiplied with: the scale given, or 1 / sqrt(D). */
float scale_of(const attune_attention_args &args, int64_t head_dim);

/** The soft cap that the score names, or else the one given; 0 is none. */
float softcap_of(const attune_attention_plan &plan, const attune_attention_args &args);

PositionInput position_input(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape);

/** One run's operands, in scratch where they aren't the caller's. */
class RunOperands {
public:
    explicit RunOperands(Call &call) : call_(call), relative_memory_(call), table_memory_(call), query_memory_(call), key_memory_(call) {}

    Status fill(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape);

    const attune_tensor *relative() const { return has_relative_ ? &relative_ : nullptr; }     // f32 [B or 1, Hq, N + M - 1]
    const attune_tensor *query_table() const { return has_tables_ ? &query_table_ : nullptr; } // f32 [B, N, plane, channel]
    const attune_tensor *key_table() const { return has_tables_ ? &key_table_ : nullptr; }
    /** q and k, or the new tokens for a cache, for a kernel that adds no positions. */
    const attune_tensor &placed_q() const { return placed_q_; }
    const attune_tensor &placed_k() const { return placed_k_; }

private:
    Status fill_positions(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape);

    Call &call_;
    Scratch<float> relative_memory_, table_memory_;
    Scratch<char> query_memory_, key_memory_;
    bool has_relative_ = false, has_tables_ = false;
    attune_tensor relative_ = {}, query_table_ = {}, key_table_ = {}, placed_q_ = {}, placed_k_ = {};
};

} // namespace attune::runtime
