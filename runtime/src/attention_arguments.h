// The arguments of a kernel call that attention and its weights share.
#pragma once

#include <cstdint>

#include "attention_checks.h"
#include "attention_plan.h"
#include "call.h"
#include "halide_buffer.h"

namespace attune::runtime {

/** The offsets as a kernel with a mask of its own takes them: int32, one or one per batch item. */
class KernelOffsets {
public:
    explicit KernelOffsets(Call &call) : many_(call) {}

    Status fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

    const int32_t *data() const { return many_.data() ? many_.data() : &one_; }
    int64_t stride() const { return many_.data() ? 1 : 0; }

private:
    Scratch<int32_t> many_;
    int32_t one_ = 0;
};

/** q, k, and everything from the offsets to the temperature, in the form kernels take them. */
class ScoreArguments {
public:
    ScoreArguments(const attune_attention_args &args, const AttentionShape &shape, const KernelOffsets &offsets);

    /** Appends offsets, params, attend, bias, use_attend, use_bias, scale, softcap, temperature; returns the next place. */
    void **append(void **next);

    HalideBuffer q, k;

private:
    HalideBuffer offsets_, params_, attend_, bias_;
    int32_t use_attend_, use_bias_;
    float scale_, softcap_, temperature_;
};

} // namespace attune::runtime
