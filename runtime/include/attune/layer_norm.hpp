// Layer norm as a layer that keeps its weights.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
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
        const int64_t channels = desc.weight.rank == 1 ? desc.weight.extent[0] : 0;
        for (const auto &[tensor, name] : {std::pair(&desc.weight, "weight"), std::pair(&desc.bias, "bias")}) {
            const auto refused = [name = name](const std::string &what) { return Status{ATTUNE_INVALID_ARGUMENT, name + what}; };
            if (tensor->rank != 1) return refused(".rank is " + std::to_string(tensor->rank) + "; it must be 1");
            if (tensor->type != ATTUNE_F32) return refused(".type must be ATTUNE_F32");
            if (tensor->device != ATTUNE_CPU) return refused(".device must be ATTUNE_CPU: the numbers are copied");
            if (tensor->extent[0] < 0 || tensor->extent[0] > INT32_MAX || tensor->extent[0] != channels)
                return refused(".extent[0] is " + std::to_string(tensor->extent[0]) + "; it must be " + std::to_string(channels) +
                               ", as in weight, and 0 to " + std::to_string(INT32_MAX));
            if (!tensor->data && channels > 0) return refused(".data is NULL");
            if (reinterpret_cast<uintptr_t>(tensor->data) % alignof(float) != 0)
                return refused(".data must be aligned to " + std::to_string(alignof(float)) + " bytes");
        }
        if (!(desc.epsilon >= 0))
            return Status{ATTUNE_INVALID_ARGUMENT, "epsilon is " + std::to_string(desc.epsilon) + "; it must be 0 or more"};
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
