// What attune_mha_create settles once: four linear layers and a plan of attention.
#pragma once

#include <array>
#include <memory>

#include "runtime/src/layer/linear.h"
#include "runtime/src/status.h"

namespace attune::runtime {

struct Destroy {
    void operator()(attune_linear *linear) const { attune_linear_destroy(linear); }
    void operator()(attune_attention_plan *plan) const { attune_attention_plan_destroy(plan); }
};
using LinearPointer = std::unique_ptr<attune_linear, Destroy>;

/** What a call of the C interface returned, as a Status. */
inline Status status_of(attune_status code) { return code == ATTUNE_OK ? Status() : Status{code, attune_error_message()}; }

/** What makes queries, keys or values of the input: some columns of a layer. */
struct Projection {
    const attune_linear *layer = nullptr; // the input is the heads side by side already
    Columns columns;
};

} // namespace attune::runtime

struct attune_mha {
    attune_type dtype = ATTUNE_F32;
    int64_t heads = 0;
    int64_t kv_heads = 0;
    int64_t head_dim = 0;
    int64_t value_dim = 0;
    int64_t out = 0;
    int64_t context_length = 0; // 0: no limit
    attune::runtime::Projection query, key, value;
    std::array<attune::runtime::LinearPointer, 3> layers; // that project: one for all three where they take the same channels
    attune::runtime::LinearPointer output;                // nullptr: the heads' outputs side by side are the result

    /** Whether one layer gives all three. */
    bool is_fused() const { return query.layer && query.layer == key.layer && key.layer == value.layer; }
    std::unique_ptr<attune_attention_plan, attune::runtime::Destroy> attention;
};

namespace attune::runtime {

/** The tensors of a run as rank 3, [B, tokens, channels]; key and value filled in where they are left out. */
struct MhaOperands {
    attune_tensor query, key, value, out;
    attune_tensor residual; // without data: none

    int64_t batch() const { return query.extent[0]; }
    int64_t queries() const { return query.extent[1]; }
    int64_t new_keys() const { return key.extent[1]; }
};

/** Checks what the layer's own parts of a run must be, and what only they can name; attention checks the rest. */
Status check_mha(const attune_mha &mha, const attune_mha_args &args, MhaOperands &operands);

} // namespace attune::runtime
