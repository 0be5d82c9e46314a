// All that is checked of one attention call before a kernel runs.
#pragma once

#include <cstdint>

#include "attention_plan.h"
#include "status.h"

namespace attune::runtime {

struct AttentionShape {
    int64_t batch;
    int64_t heads;    // Hq
    int64_t kv_heads; // Hkv
    int64_t queries;  // N
    int64_t keys;     // M
    int64_t head_dim;
    int64_t value_dim;
};

/** Checks `args` against the plan and each other, and fills in `shape`. */
Status check_attention(const attune_attention_plan &plan, const attune_attention_args &args, AttentionShape &shape);

} // namespace attune::runtime
