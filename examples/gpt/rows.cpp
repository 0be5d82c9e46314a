#include "rows.h"

#include <cmath>

#include "bfloat16.h"
#include "error.h"

namespace gpt {

namespace {

float load(const attune_tensor &tensor, int64_t element) {
    if (tensor.type == ATTUNE_F32) return static_cast<const float *>(tensor.data)[element];
    return from_bf16(static_cast<const uint16_t *>(tensor.data)[element]);
}

void store(const attune_tensor &tensor, int64_t element, float value) {
    if (tensor.type == ATTUNE_F32)
        static_cast<float *>(tensor.data)[element] = value;
    else
        static_cast<uint16_t *>(tensor.data)[element] = to_bf16(value);
}

void normalise_row(const Norm &norm, const attune_tensor &x, int64_t from, const attune_tensor &y, int64_t to) {
    const auto width = static_cast<int64_t>(norm.weight.size());
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < width; ++c)
        sum += load(x, from + c);
    const double mean = norm.bias.empty() ? 0 : sum / static_cast<double>(width);
    for (int64_t c = 0; c < width; ++c)
        squares += std::pow(load(x, from + c) - mean, 2);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + norm.epsilon);
    for (int64_t c = 0; c < width; ++c) {
        const double bias = norm.bias.empty() ? 0 : norm.bias[static_cast<size_t>(c)];
        store(y, to + c, static_cast<float>((load(x, from + c) - mean) * scale * norm.weight[static_cast<size_t>(c)] + bias));
    }
}

} // namespace

void normalise(const Norm &norm, const attune_tensor &x, const attune_tensor &y) {
    for (int64_t item = 0; item < x.extent[0]; ++item)
        for (int64_t token = 0; token < x.extent[1]; ++token)
            normalise_row(norm, x, item * x.stride[0] + token * x.stride[1], y, item * y.stride[0] + token * y.stride[1]);
}

void look_up(const int32_t *ids, const attune_tensor &table, const attune_tensor *positions, int64_t first, const attune_tensor &y) {
    const int64_t width = y.extent[1];
    for (int64_t i = 0; i < y.extent[0]; ++i) {
        require(ids[i] >= 0 && ids[i] < table.extent[0], "token {} is {}; it must be 0 to {}", i, ids[i], table.extent[0] - 1);
        for (int64_t c = 0; c < width; ++c) {
            const float position = positions ? load(*positions, (first + i) * width + c) : 0;
            store(y, i * width + c, load(table, ids[i] * width + c) + position);
        }
    }
}

} // namespace gpt
