// The masks of one run in the forms that kernels read.
#pragma once

#include "runtime/src/attention/checks.h"
#include "runtime/src/attention/plan.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/mask/interval_table.h"

namespace attune::runtime {

/** A boolean mask for a kernel, or none. */
struct Attend {
    attune_tensor tensor = {};
    bool used = false;
};

class RunMasks {
public:
    explicit RunMasks(Call &call) : call_(call), documents_(call), blocks_(call), memory_(call), attend_memory_(call) {}

    Status fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

    const IntervalTable &table() const { return table_; }
    const DocumentSets &documents() const { return documents_; }
    /** The caller's boolean mask, for the attention kernel: not beside a compiled-in mask whose own term it is. */
    const Attend &attend() const { return attend_; }
    /** For the weights' kernel, which has nothing compiled in: every part of the masks that isn't in the table. */
    const Attend &weights_attend() const { return weights_attend_; }

private:
    Status build_table(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);
    Status write_weights_attend(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

    Call &call_;
    DocumentSets documents_;
    BlockSets blocks_;
    Scratch<int32_t> memory_;
    Scratch<uint8_t> attend_memory_;
    IntervalTable table_ = {};
    Attend attend_, weights_attend_;
};

} // namespace attune::runtime
