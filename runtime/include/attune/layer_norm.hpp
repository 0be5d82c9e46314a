// Layer norm as a layer that keeps its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/attune.hpp"

namespace attune {

/** Layer norm's weights, [C] each, and epsilon: y = (x - mean) / sqrt(variance + epsilon) weight + bias. The tensors are copied. */
struct LayerNormDesc {
    TensorView weight, bias;
    float epsilon = 1e-5f;
};

/** Layer norm: Ba et al., arXiv 1607.06450. May run from many threads at once. */
class LayerNorm {
public:
    static Result<LayerNorm> create(const LayerNormDesc &desc) {
        const int64_t channels = desc.weight.extent[0];
        for (const TensorView *tensor : {&desc.weight, &desc.bias})
            if (tensor->rank != 1 || tensor->type != ATTUNE_F32 || tensor->extent[0] != channels || !tensor->data)
                return Status{ATTUNE_INVALID_ARGUMENT, "weight and bias must be f32 tensors of one axis, equally long"};
        LayerNorm norm;
        norm.epsilon_ = desc.epsilon;
        const auto *weight = static_cast<const float *>(desc.weight.data), *bias = static_cast<const float *>(desc.bias.data);
        for (int64_t c = 0; c < channels; c++)
            norm.weight_.push_back(weight[c * desc.weight.stride[0]]), norm.bias_.push_back(bias[c * desc.bias.stride[0]]);
        return norm;
    }

    /** As layer_norm, with x and y f32 or bf16; y may be x. */
    Status run(const TensorView &x, const TensorView &y, attune_call *call = nullptr) const {
        const auto channels = static_cast<int64_t>(weight_.size());
        const TensorView weight(weight_.data(), {channels}), bias(bias_.data(), {channels});
        NormOptions options;
        options.weight = &weight, options.bias = &bias, options.epsilon = epsilon_;
        return layer_norm(x, y, options, call);
    }

private:
    std::vector<float> weight_, bias_;
    float epsilon_ = 0;
};

} // namespace attune
