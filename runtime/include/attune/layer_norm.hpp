// Layer norm as a layer that keeps its weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attune/attune.hpp"

namespace attune {

namespace block {

/** f32 [B, N, C] or [N, C], the last axis contiguous. */
inline Status check_tokens(const TensorView &x, int64_t channels, const std::string &name) {
    const auto wrong = [&](const std::string &sentence) { return Status{ATTUNE_INVALID_ARGUMENT, name + sentence}; };
    if (x.rank != 2 && x.rank != 3) return wrong(".rank is " + std::to_string(x.rank) + "; it must be 2 or 3");
    if (x.type != ATTUNE_F32) return wrong(".type is " + std::to_string(x.type) + "; it must be ATTUNE_F32 (1)");
    const int64_t given = x.extent[x.rank - 1];
    if (given != channels) return wrong(" has " + std::to_string(given) + " channels; the layer takes " + std::to_string(channels));
    for (int32_t axis = 0; axis < x.rank; axis++)
        if (x.extent[axis] < 0)
            return wrong(".extent[" + std::to_string(axis) + "] is " + std::to_string(x.extent[axis]) + "; it must be 0 or more");
    if (channels != 1 && x.stride[x.rank - 1] != 1)
        return wrong(".stride of the channels is " + std::to_string(x.stride[x.rank - 1]) + "; it must be 1");
    return x.data || x.extent[0] == 0 || x.extent[1] == 0 ? Status() : wrong(".data is NULL");
}

} // namespace block

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

    /** x and y: [..., C] of rank 2 or 3, the last axis contiguous; y may be x. */
    Status run(const TensorView &x, const TensorView &y, attune_call * = nullptr) const {
        const auto channels = static_cast<int64_t>(weight_.size());
        if (Status status = block::check_tokens(x, channels, "x"); !status) return status;
        if (Status status = block::check_tokens(y, channels, "y"); !status) return status;
        if (y.rank != x.rank || !std::equal(x.extent, x.extent + x.rank, y.extent))
            return {ATTUNE_INVALID_ARGUMENT, "y has another shape than x; it must have the same"};
        const int64_t batch = x.rank == 3 ? x.extent[0] : 1, tokens = x.extent[x.rank - 2];
        for (int64_t row = 0; row < batch * tokens; row++) {
            const auto place = [&](const TensorView &t) {
                return static_cast<float *>(t.data) + (t.rank == 3 ? row / tokens * t.stride[0] : 0) + row % tokens * t.stride[t.rank - 2];
            };
            normalise(place(x), place(y), channels);
        }
        return {};
    }

private:
    void normalise(const float *x, float *y, int64_t channels) const {
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < channels; c++)
            sum += double(x[c]);
        const double mean = sum / double(channels);
        for (int64_t c = 0; c < channels; c++)
            squares += (double(x[c]) - mean) * (double(x[c]) - mean);
        const double factor = 1 / std::sqrt(squares / double(channels) + double(epsilon_));
        for (int64_t c = 0; c < channels; c++)
            y[c] = static_cast<float>((double(x[c]) - mean) * factor) * weight_[static_cast<size_t>(c)] + bias_[static_cast<size_t>(c)];
    }

    std::vector<float> weight_, bias_;
    float epsilon_ = 0;
};

} // namespace attune
