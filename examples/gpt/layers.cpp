#include "layers.h"

#include <algorithm>
#include <limits>

#include "bfloat16.h"
#include "error.h"

namespace gpt {

using attune::TensorView;

TensorView Matrix::view() const {
    return transposed ? TensorView(values.data(), {rows, columns}, {1, rows}) : TensorView(values.data(), {rows, columns});
}

namespace {

std::vector<float> read_bias(const Checkpoint &checkpoint, const std::string &name, int64_t rows) {
    return checkpoint.has(name + ".bias") ? checkpoint.read(name + ".bias", {rows}) : std::vector<float>();
}

} // namespace

Matrix read_matrix(const Checkpoint &checkpoint, const std::string &name, int64_t rows, int64_t columns) {
    return {rows, columns, checkpoint.read(name + ".weight", {rows, columns}), read_bias(checkpoint, name, rows), false};
}

Matrix read_transposed(const Checkpoint &checkpoint, const std::string &name, int64_t rows, int64_t columns) {
    return {rows, columns, checkpoint.read(name + ".weight", {columns, rows}), read_bias(checkpoint, name, rows), true};
}

Matrix stack(const std::vector<Matrix> &parts) {
    Matrix all;
    const bool has_bias = std::any_of(parts.begin(), parts.end(), [](const Matrix &part) { return !part.bias.empty(); });
    for (const Matrix &part : parts) {
        all.rows += part.rows, all.columns = part.columns;
        all.values.insert(all.values.end(), part.values.begin(), part.values.end());
        all.bias.insert(all.bias.end(), part.bias.begin(), part.bias.end());
        if (has_bias) all.bias.resize(static_cast<size_t>(all.rows));
    }
    return all;
}

attune::Linear make_linear(attune_type dtype, const Matrix &weight, attune_activation activation, const Matrix *gate) {
    attune::LinearDesc desc;
    const TensorView bias(weight.bias.data(), {weight.rows}), gate_view = gate ? gate->view() : TensorView();
    desc.dtype = dtype, desc.weight = weight.view(), desc.activation = activation;
    desc.bias = weight.bias.empty() ? nullptr : &bias;
    desc.gate = gate ? &gate_view : nullptr;
    auto linear = attune::Linear::create(desc);
    require(linear.status());
    return std::move(*linear);
}

Buffer read_table(const Checkpoint &checkpoint, const std::string &name, int64_t rows, int64_t columns, attune_type dtype) {
    const std::vector<float> values = checkpoint.read(name, {rows, columns});
    Buffer table(dtype);
    const TensorView view = table.view({rows, columns});
    if (dtype == ATTUNE_F32)
        std::copy(values.begin(), values.end(), static_cast<float *>(view.data));
    else
        std::transform(values.begin(), values.end(), static_cast<uint16_t *>(view.data), to_bf16);
    return table;
}

float norm_epsilon(const Checkpoint &checkpoint, const char *name, double otherwise) {
    const double epsilon = value_or(checkpoint.config(), name, otherwise);
    require(epsilon >= 0 && epsilon <= std::numeric_limits<float>::max(), "config.json: \"{}\" is {}; it must be 0 or more, and a float",
            name, epsilon);
    return static_cast<float>(epsilon);
}

attune_activation activation_of(const std::string &name) {
    if (name == "gelu_new" || name == "gelu_pytorch_tanh") return ATTUNE_GELU_TANH;
    if (name == "gelu") return ATTUNE_GELU;
    if (name == "silu" || name == "swish") return ATTUNE_SILU;
    if (name == "relu") return ATTUNE_RELU;
    fail("config.json has the activation \"{}\"; it must be gelu, gelu_new, gelu_pytorch_tanh, silu, swish or relu", name);
}

} // namespace gpt
