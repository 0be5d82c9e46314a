#include "runtime/src/layer/linear.h"

#include <memory>

#include "runtime/src/divided_up.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/cpu.h"
#include "runtime/src/kernel/registry.h"
#include "runtime/src/tensor/floats.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

constexpr const char *default_schedule = "tiles";
constexpr const char *row_schedule = "row";
constexpr const char *few_rows_schedule = "rows";
constexpr const char *eight_rows_schedule = "eight_rows";
constexpr int64_t most_few_rows = 4, most_rows_at_once = 8; // up to which each weight read once for all rows is what counts

Status check_matrix(const attune_tensor &tensor, const char *name) {
    ATTUNE_TRY(check_type(tensor.type, name, layer_types));
    ATTUNE_TRY(check_tensor(tensor, {name, tensor.type, 2, 2, Role::input, false}));
    // The stride of a panel of both matrices counts in 32 bits.
    constexpr int64_t most_in = INT32_MAX / (2 * PackedWeights::panel_columns);
    ATTUNE_REQUIRE(tensor.extent[0] >= 1 && tensor.extent[0] <= INT32_MAX - PackedWeights::panel_columns,
                   "{}.extent[0], its outputs, is {}; it must be 1 to {}", name, tensor.extent[0],
                   INT32_MAX - PackedWeights::panel_columns);
    ATTUNE_REQUIRE(tensor.extent[1] >= 1 && tensor.extent[1] <= most_in, "{}.extent[1], its inputs, is {}; it must be 1 to {}", name,
                   tensor.extent[1], most_in);
    return {};
}

Status check_desc(const attune_linear_desc *desc) {
    ATTUNE_TRY(check_struct(desc, "desc", "attune_linear_desc_init"));
    ATTUNE_TRY(check_type(desc->dtype, "desc", layer_types, "dtype"));
    const int activation = raw_value(desc->activation);
    ATTUNE_REQUIRE(activation >= ATTUNE_ACTIVATION_NONE && activation <= ATTUNE_SILU,
                   "desc.activation is {}; it must be ATTUNE_ACTIVATION_NONE ({}) to ATTUNE_SILU ({})", activation,
                   static_cast<int>(ATTUNE_ACTIVATION_NONE), static_cast<int>(ATTUNE_SILU));
    const attune_tensor &weight = desc->weight;
    ATTUNE_TRY(check_matrix(weight, "weight"));
    if (desc->gate) {
        ATTUNE_TRY(check_matrix(*desc->gate, "gate"));
        ATTUNE_TRY(
            check_extents(*desc->gate, "gate", {{weight.extent[0], "the outputs of weight"}, {weight.extent[1], "the inputs of weight"}}));
    }
    if (!desc->bias) return {};
    ATTUNE_TRY(check_type(desc->bias->type, "bias", layer_types));
    ATTUNE_TRY(check_tensor(*desc->bias, {"bias", desc->bias->type, 1, 1, Role::input, false}));
    return check_extents(*desc->bias, "bias", {{weight.extent[0], "the outputs of weight"}});
}

/** `named`: nullptr for Attune's choice. */
Status choose_kernels(attune_type dtype, const char *named, attune_linear &linear) {
    ATTUNE_TRY(find_kernel({"linear", named ? named : default_schedule, dtype}, linear.kernel));
    linear.eight_rows = linear.few_rows = linear.one_row = linear.kernel;
    if (named) return {};
    // A library without one of these does with another.
    if (!find_kernel({"linear", few_rows_schedule, dtype}, linear.few_rows).ok()) linear.few_rows = linear.kernel;
    if (!find_kernel({"linear", eight_rows_schedule, dtype}, linear.eight_rows).ok()) linear.eight_rows = linear.few_rows;
    if (!find_kernel({"linear", row_schedule, dtype}, linear.one_row).ok()) linear.one_row = linear.few_rows;
    return {};
}

/** Memory for what a layer keeps of its tensors; all of it is 0. */
Status allocate(attune_linear &linear, attune_type dtype, int64_t out, int64_t in, int64_t matrices) {
    linear.dtype = dtype, linear.out = out, linear.in = in, linear.gated = matrices > 1;
    ATTUNE_TRY(linear.weights.allocate(dtype, out, in, matrices));
    linear.bias.resize(static_cast<size_t>(linear.weights.panels() * PackedWeights::panel_columns));
    linear.zeros.resize(static_cast<size_t>(out));
    return {};
}

void copy_bias(const attune_tensor &bias, int64_t first_column, std::vector<float> &to) {
    const int64_t stride = effective_stride(bias, 0);
    for (int64_t i = 0; i < bias.extent[0]; ++i)
        to[static_cast<size_t>(first_column + i)] = float_at(bias.data, bias.type, i * stride);
}

Status make_linear(const attune_linear_desc *desc, attune_linear &linear) {
    ATTUNE_TRY(check_cpu_setting());
    ATTUNE_TRY(check_desc(desc));
    ATTUNE_TRY(choose_kernels(desc->dtype, desc->schedule, linear));
    ATTUNE_TRY(allocate(linear, desc->dtype, desc->weight.extent[0], desc->weight.extent[1], desc->gate ? 2 : 1));
    linear.activation = desc->activation;
    linear.weights.pack(desc->weight, 0);
    if (desc->gate) linear.weights.pack(*desc->gate, 1);
    if (desc->bias) copy_bias(*desc->bias, 0, linear.bias);
    return {};
}

/** What a layer of its own would have to be. */
Status check_stacked(attune_type dtype, const StackedLayer &layer) {
    attune_linear_desc desc;
    attune_linear_desc_init(&desc);
    desc.dtype = dtype, desc.weight = *layer.weight, desc.bias = layer.bias;
    const Status status = check_desc(&desc);
    return status.ok() ? status : Status{status.code, formatted("{} projection: {}", layer.name, status.message)};
}

} // namespace

const attune_kernel &kernel_for(const attune_linear &linear, int64_t rows) {
    if (rows <= 1) return *linear.one_row;
    if (rows <= most_few_rows) return *linear.few_rows;
    return rows <= most_rows_at_once ? *linear.eight_rows : *linear.kernel;
}

Status make_stacked(attune_type dtype, std::initializer_list<StackedLayer> layers, attune_linear &linear) {
    constexpr int64_t lanes = PackedWeights::panel_columns;
    ATTUNE_TRY(check_cpu_setting());
    int64_t panels = 0, out = 0;
    for (const StackedLayer &layer : layers) {
        ATTUNE_TRY(check_stacked(dtype, layer));
        *layer.columns = {panels * lanes, layer.weight->extent[0]};
        out = layer.columns->first + layer.columns->count, panels = divided_up(out, lanes);
    }
    ATTUNE_TRY(choose_kernels(dtype, nullptr, linear));
    ATTUNE_REQUIRE(out <= INT32_MAX - lanes, "the projections have {} outputs together; they may have {}", out, INT32_MAX - lanes);
    ATTUNE_TRY(allocate(linear, dtype, out, layers.begin()->weight->extent[1], 1));
    for (const StackedLayer &layer : layers) {
        linear.weights.pack(*layer.weight, 0, layer.columns->first / lanes);
        if (layer.bias) copy_bias(*layer.bias, layer.columns->first, linear.bias);
    }
    return {};
}

} // namespace attune::runtime

using attune::runtime::guarded;
using attune::runtime::Status;

extern "C" void attune_linear_desc_init(attune_linear_desc *desc) {
    if (attune::runtime::reset(desc)) desc->dtype = ATTUNE_F32;
}

extern "C" attune_status attune_linear_create(const attune_linear_desc *desc, attune_linear **linear) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(linear != nullptr, "linear is NULL; it must point to where the layer goes");
        auto made = std::make_unique<attune_linear>();
        ATTUNE_TRY(attune::runtime::make_linear(desc, *made));
        *linear = made.release();
        return {};
    });
}

extern "C" void attune_linear_destroy(attune_linear *linear) { delete linear; }

extern "C" const attune_kernel *attune_linear_kernel_for(const attune_linear *linear, int64_t rows) {
    return linear && rows >= 0 ? &attune::runtime::kernel_for(*linear, rows) : nullptr;
}

extern "C" int64_t attune_linear_in(const attune_linear *linear) { return linear ? linear->in : 0; }
extern "C" int64_t attune_linear_out(const attune_linear *linear) { return linear ? linear->out : 0; }
extern "C" size_t attune_linear_bytes(const attune_linear *linear) {
    return linear ? linear->weights.bytes() + linear->bias.size() * sizeof(float) : 0;
}
