#include <algorithm>

#include "runtime/src/error.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/tensor/floats.h"
#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

Status check_like_x(const attune_tensor &tensor, const char *name, Role role, const attune_tensor &x) {
    ATTUNE_TRY(check_tensor(tensor, {name, x.type, x.rank, x.rank, role, true}));
    return check_same_extents(tensor, name, x, "x", x.rank);
}

Status check_scale(const attune_tensor *scale, const char *name, const attune_norm_args &args) {
    if (!scale) return {};
    ATTUNE_TRY(check_type(scale->type, name, layer_types));
    ATTUNE_TRY(check_tensor(*scale, {name, scale->type, 1, 1, Role::input, false}));
    ATTUNE_TRY(check_extents(*scale, name, {{args.x.extent[args.x.rank - 1], "the channels of x"}}));
    return check_apart({&args.y, "y"}, {scale, name});
}

Status check_norm(const attune_norm_args &args) {
    ATTUNE_TRY(check_type(args.x.type, "x", layer_types));
    ATTUNE_TRY(check_tensor(args.x, {"x", args.x.type, 1, ATTUNE_MAX_RANK, Role::input, true}));
    ATTUNE_TRY(check_like_x(args.y, "y", Role::output, args.x));
    const NamedTensor x = {&args.x, "x"}, y = {&args.y, "y"}, sum = {args.sum, "sum"}, residual = {args.residual, "residual"};
    ATTUNE_TRY(check_place(y, x));
    ATTUNE_TRY(check_scale(args.weight, "weight", args));
    ATTUNE_TRY(check_scale(args.bias, "bias", args));
    ATTUNE_REQUIRE(args.epsilon >= 0, "epsilon is {}; it must be 0 or more", args.epsilon);
    ATTUNE_REQUIRE((args.residual == nullptr) == (args.sum == nullptr), "{} is NULL; residual and sum come together",
                   args.residual ? "sum" : "residual");
    if (!args.residual) return {};
    ATTUNE_TRY(check_like_x(*args.residual, "residual", Role::input, args.x));
    ATTUNE_TRY(check_like_x(*args.sum, "sum", Role::output, args.x));
    ATTUNE_TRY(check_place(sum, x));
    ATTUNE_TRY(check_place(sum, residual));
    ATTUNE_TRY(check_apart(y, sum));
    ATTUNE_TRY(check_apart(sum, {args.weight, "weight"}));
    ATTUNE_TRY(check_apart(sum, {args.bias, "bias"}));
    return check_place(y, residual);
}

/** A weight or bias as contiguous f32, itself or a copy in `copy`; `otherwise` in each place where there is none. */
const float *contiguous_scale(const attune_tensor *scale, float otherwise, int64_t channels, float *copy) {
    if (!scale) {
        std::fill_n(copy, channels, otherwise);
        return copy;
    }
    const int64_t stride = effective_stride(*scale, 0);
    if (scale->type == ATTUNE_F32 && stride == 1) return static_cast<const float *>(scale->data);
    for (int64_t c = 0; c < channels; ++c)
        copy[c] = float_at(scale->data, scale->type, c * stride);
    return copy;
}

Status add_residual(const attune_norm_args &args, Call &call) {
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_function_kernel("row_sum", nullptr, kernel, args.x.type));
    const int64_t channels = args.x.extent[args.x.rank - 1];
    return for_each_run_of_rows({&args.x, args.residual, args.sum}, [&](int64_t rows, const auto &stride, const auto &at) {
        HalideBuffer a(element_at(args.x, at[0]), args.x.type, {{rows, stride[0]}, {channels, 1}});
        HalideBuffer b(element_at(*args.residual, at[1]), args.x.type, {{rows, stride[1]}, {channels, 1}});
        HalideBuffer y(element_at(*args.sum, at[2]), args.x.type, {{rows, stride[2]}, {channels, 1}});
        void *arguments[4] = {nullptr, a.get(), b.get(), y.get()};
        return run_kernel(*kernel, arguments, call);
    });
}

Status run_norm(const char *operation, const attune_norm_args &args, Call &call) {
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_function_kernel(operation, args.schedule, kernel, args.x.type));
    if (!has_elements(args.x)) return {};
    const int64_t channels = args.x.extent[args.x.rank - 1];
    Scratch<float> scales(call);
    if (!scales.allocate(static_cast<size_t>(2 * channels))) return out_of_memory("the norm's weight", 8 * channels);
    const float *weights = contiguous_scale(args.weight, 1, channels, scales.data());
    const float *biases = contiguous_scale(args.bias, 0, channels, scales.data() + channels);
    if (args.residual) ATTUNE_TRY(add_residual(args, call));
    const attune_tensor &from = args.residual ? *args.sum : args.x;
    HalideBuffer weight(weights, ATTUNE_F32, {{channels, 1}}), bias(biases, ATTUNE_F32, {{channels, 1}});
    float epsilon = args.epsilon;
    return for_each_run_of_rows({&from, &args.y}, [&](int64_t rows, const auto &stride, const auto &at) {
        HalideBuffer x(element_at(from, at[0]), from.type, {{rows, stride[0]}, {channels, 1}});
        HalideBuffer y(element_at(args.y, at[1]), from.type, {{rows, stride[1]}, {channels, 1}});
        void *arguments[6] = {nullptr, x.get(), weight.get(), bias.get(), &epsilon, y.get()};
        return run_kernel(*kernel, arguments, call);
    });
}

Status norm(const char *operation, bool takes_bias, const attune_norm_args *args, attune_call *call) {
    ATTUNE_TRY(check_struct(args, "args", "attune_norm_args_init"));
    ATTUNE_TRY(check_call(call));
    ATTUNE_REQUIRE(takes_bias || !args->bias, "bias is given; RMS norm has none");
    ATTUNE_TRY(check_norm(*args));
    Call scope(call);
    return run_norm(operation, *args, scope);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_norm_args_init(attune_norm_args *args) {
    if (reset(args)) args->epsilon = 1e-5f;
}

extern "C" attune_status attune_layer_norm(const attune_norm_args *args, attune_call *call) {
    return guarded([&]() -> Status { return norm("layer_norm", true, args, call); });
}

extern "C" attune_status attune_rms_norm(const attune_norm_args *args, attune_call *call) {
    return guarded([&]() -> Status { return norm("rms_norm", false, args, call); });
}
