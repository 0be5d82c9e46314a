// The declaration of attention over parameters, compiled in this process: once, for any number of problems.
#pragma once

#include <optional>
#include <vector>

#include <Halide.h>

#include "attention_oracle.h"
#include "dsl/attention/attention.h"

namespace attune::test {

/** A tensor as Halide sees it: over the same memory, innermost axis first. */
template <typename T> Halide::Buffer<T> buffer_of(const Tensor<T> &tensor) {
    std::vector<halide_dimension_t> shape;
    for (size_t axis = tensor.extent.size(); axis-- > 0;)
        shape.emplace_back(0, static_cast<int>(tensor.extent[axis]), static_cast<int>(tensor.stride[axis]));
    Halide::Buffer<T> buffer(tensor.data(), static_cast<int>(shape.size()), shape.data());
    buffer.set_host_dirty(); // a device is to take its copy from here
    return buffer;
}

/** The problem's textual mask, offsets and key lengths as the table dsl::KeyIntervals reads: [B,1,N,R,2]. */
Tensor<int32_t> interval_table(const AttentionProblem &problem);

struct JitResult {
    Tensor<float> out, lse;
    Tensor<int32_t> counts; // [B,Hq,tiles,2], where the pipeline counts panels
};

class JitAttention {
public:
    /** `head_dim`: D and Dv compiled in, or 0 for any. `mask`: compiled in. */
    explicit JitAttention(int head_dim = 0, std::optional<dsl::Mask> mask = std::nullopt);

    const dsl::AttentionInputs &inputs() const { return inputs_; }
    /** To be called before declare(). */
    void count_panels() { inputs_.count_panels = true; }

    /** Declares the pipeline; what comes back is to be scheduled before compile(), and schedules::add_passes() called for it, or
     * compute_all_at_root(). */
    dsl::Attention declare(const dsl::Blocking &blocking);
    /** A schedule of the simplest kind, and the passes that the declaration counts on whatever its schedule. */
    void compute_all_at_root();
    void compile(const Halide::Target &target);
    JitResult run(const AttentionProblem &problem);

    /** Sets the parameters of inputs(), for other declarations over them. */
    void bind(const AttentionProblem &problem);

    Halide::Pipeline pipeline;

private:
    Halide::ImageParam query_{Halide::Float(32), 4, "query"}, key_{Halide::Float(32), 4, "key"}, value_{Halide::Float(32), 4, "value"};
    Halide::ImageParam intervals_{Halide::Int(32), 5, "intervals"};
    Halide::ImageParam attend_{Halide::UInt(8), 4, "attend"}, bias_{Halide::Float(32), 4, "bias"};
    Halide::ImageParam relative_{Halide::Float(32), 3, "relative"}, sinks_{Halide::Float(32), 1, "sinks"};
    Halide::Param<int32_t> use_attend_, use_bias_, use_relative_, use_sinks_;
    Halide::Param<float> scale_, softcap_, temperature_;
    Halide::Param<uint32_t> threshold_, seed_low_, seed_high_;
    dsl::AttentionInputs inputs_;
    dsl::Attention declared_;
    Halide::Target target_;
    Tensor<int32_t> table_; // what is bound: Halide's buffers don't own it
    Tensor<uint8_t> attend_tensor_;
    Tensor<float> bias_tensor_, relative_tensor_, sinks_tensor_;
    int rows_per_tile_ = 1;
};

/** Every Func that the pipeline's outputs call, whole and in memory, one after another. */
void compute_all_at_root(const Halide::Pipeline &pipeline);

/** The rule of accuracy for output and log-sum-exp: attention_in_double of `problem` decides. */
void expect_exact(const JitResult &result, const AttentionProblem &problem);

} // namespace attune::test
