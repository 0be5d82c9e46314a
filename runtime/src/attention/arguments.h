// The arguments of a kernel call that attention and its weights share.
#pragma once

#include <cstdint>

#include "runtime/src/attention/checks.h"
#include "runtime/src/attention/masks.h"
#include "runtime/src/attention/operands.h"
#include "runtime/src/attention/pages.h"
#include "runtime/src/attention/plan.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/halide_buffer.h"

namespace attune::runtime {

/** Offsets and key lengths as a kernel with a mask of its own takes them: int32, one or one per batch item. Without key lengths each is M:
 * a mask in C++ may read them in every call, and kernels for CUDA say the same. */
class KernelIntegers {
public:
    explicit KernelIntegers(Call &call) : offsets_(call), lengths_(call) {}

    Status fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

    const int32_t *offsets() const { return offsets_.data() ? offsets_.data() : &offset_; }
    int64_t offset_stride() const { return offsets_.data() ? 1 : 0; }
    const int32_t *lengths() const { return lengths_.data() ? lengths_.data() : &keys_; }
    int64_t length_stride() const { return lengths_.data() ? 1 : 0; }

private:
    Status fill_offsets(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

    Scratch<int32_t> offsets_, lengths_;
    int32_t offset_ = 0, keys_ = 0;
};

/** The scales of an int8 cache, [pages, Hkv, S], or what stands in for them: nullptr. */
HalideBuffer scale_buffer(const attune_tensor *scale);

/** All that was made of the arguments of one run. */
struct PreparedRun {
    const attune_attention_plan &plan;
    const RunCache &cache;
    const attune_attention_args &args; // the cache's
    const AttentionShape &shape;
    const KernelIntegers &integers;
    const RunMasks &masks;
    const RunOperands &operands;
    const RunPages &pages;
};

/** The arguments that say which cells attend and how scores are made: the first ones of every kernel that computes scores. */
class ScoreArguments {
public:
    static constexpr int count = 28;

    /** For the attention kernel, which has the plan's texts compiled in or not, or else the weights' kernel, which never has. */
    ScoreArguments(const PreparedRun &run, bool weights);

    /** Appends them in the order of the kernels' interface; returns the next place. */
    void **append(void **next);

private:
    HalideBuffer q_, k_, intervals_, offsets_, params_, lengths_, query_documents_, key_documents_, block_map_;
    HalideBuffer attend_, bias_, relative_, sinks_, query_position_, key_position_;
    int32_t use_attend_, use_bias_, use_relative_, use_sinks_;
    float scale_, softcap_, temperature_;
    uint32_t dropout_threshold_, seed_low_, seed_high_;
    int32_t keys_;
    HalideBuffer pages_, key_scale_;
};

} // namespace attune::runtime
