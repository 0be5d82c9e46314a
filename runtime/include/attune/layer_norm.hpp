// Layer norm as a layer that keeps its weights.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "attune/attune.hpp"

namespace attune {

/** Layer norm's weights, f32 or bf16, [C] each, and epsilon: y = (x - mean) / sqrt(variance + epsilon) weight + bias. The tensors are
 * copied. */
struct LayerNormDesc {
    TensorView weight, bias;
    float epsilon = 1e-5f;
};

/** Layer norm: Ba et al., arXiv 1607.06450. May run from many threads at once. */
class LayerNorm {
public:
    static Result<LayerNorm> create(const LayerNormDesc &desc) {
        if (Status status = check(desc.weight, "weight"); !status) return status;
        if (Status status = check(desc.bias, "bias"); !status) return status;
        const int64_t channels = desc.weight.extent[0];
        if (desc.bias.extent[0] != channels)
            return Status{ATTUNE_INVALID_ARGUMENT, "bias.extent[0] is " + std::to_string(desc.bias.extent[0]) + "; it must be " +
                                                       std::to_string(channels) + ", as in weight"};
        if (!(desc.epsilon >= 0))
            return Status{ATTUNE_INVALID_ARGUMENT, "epsilon is " + std::to_string(desc.epsilon) + "; it must be 0 or more"};
        LayerNorm norm;
        norm.epsilon_ = desc.epsilon;
        try {
            norm.weight_ = numbers_of(desc.weight), norm.bias_ = numbers_of(desc.bias);
        } catch (const std::exception &) { // bad_alloc or length_error; nothing here throws
            return Status{ATTUNE_OUT_OF_MEMORY, "there is no memory for weight and bias of " + std::to_string(channels) + " channels"};
        }
        return norm;
    }

    int64_t channels() const { return static_cast<int64_t>(weight_.size()); }

    /** As layer_norm, with x and y f32 or bf16; y may be x. */
    Status run(const TensorView &x, const TensorView &y, attune_call *call = nullptr) const {
        const TensorView weight(weight_.data(), {channels()}), bias(bias_.data(), {channels()});
        NormOptions options;
        options.weight = &weight, options.bias = &bias, options.epsilon = epsilon_;
        return layer_norm(x, y, options, call);
    }

private:
    static Status check(const TensorView &tensor, const std::string &name) {
        const auto refused = [&](const std::string &what) { return Status{ATTUNE_INVALID_ARGUMENT, name + what}; };
        if (tensor.rank != 1) return refused(".rank is " + std::to_string(tensor.rank) + "; it must be 1");
        if (tensor.type != ATTUNE_F32 && tensor.type != ATTUNE_BF16)
            return refused(".type is " + std::string(attune_type_name(tensor.type)) + "; it must be f32 or bf16");
        if (tensor.device != ATTUNE_CPU)
            return refused(".device is " + std::string(attune_device_name(tensor.device)) + "; it must be cpu, for the numbers are copied");
        const int64_t extent = tensor.extent[0], stride = tensor.stride[0], most = INT32_MAX;
        if (extent < 0 || extent > most)
            return refused(".extent[0] is " + std::to_string(extent) + "; it must be 0 to " + std::to_string(most));
        if (extent > 1 && (stride < -most || stride > most))
            return refused(".stride[0] is " + std::to_string(stride) + "; it must be -" + std::to_string(most) + " to " +
                           std::to_string(most));
        if (!tensor.data && extent > 0) return refused(".data is NULL");
        if (const size_t size = attune_type_size(tensor.type); reinterpret_cast<uintptr_t>(tensor.data) % size != 0)
            return refused(".data must be aligned to " + std::to_string(size) + " bytes");
        return {};
    }

    static std::vector<float> numbers_of(const TensorView &tensor) {
        std::vector<float> numbers(static_cast<size_t>(tensor.extent[0]));
        for (int64_t c = 0; c < tensor.extent[0]; c++) {
            const int64_t at = c * tensor.stride[0];
            float &number = numbers[static_cast<size_t>(c)];
            if (tensor.type == ATTUNE_F32) {
                number = static_cast<const float *>(tensor.data)[at];
                continue;
            }
            const uint32_t bits = uint32_t{static_cast<const uint16_t *>(tensor.data)[at]} << 16;
            std::memcpy(&number, &bits, sizeof number);
        }
        return numbers;
    }

    std::vector<float> weight_, bias_;
    float epsilon_ = 0;
};

} // namespace attune
