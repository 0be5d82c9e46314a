#include "runtime/src/divided_up.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/layer/linear.h"
#include "runtime/src/layer/linear_tasks.h"
#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

/** Rows a fixed step apart: strides and places of x, y and residual in elements. */
Status run_rows(const attune_linear &linear, const Columns &columns, const attune_linear_args &args, int64_t rows,
                const JoinedAxes::Each &stride, const JoinedAxes::Each &at, Call &call) {
    const PackedWeights &weights = linear.weights;
    const int64_t lanes = PackedWeights::panel_columns, words = weights.words(), matrices = weights.matrices();
    const int64_t first_panel = columns.first / lanes, panels = divided_up(columns.count, lanes);
    const attune_type type = linear.dtype;
    int32_t gated = linear.gated, activation = linear.activation;
    LinearTask task = linear_task(rows, columns.count, call.threads());
    const void *residual_row = args.residual ? element_at(*args.residual, at[2]) : linear.zeros.data();
    HalideBuffer x(element_at(args.x, at[0]), type, {{rows, stride[0]}, {linear.in, 1}});
    HalideBuffer weight(weights.data(first_panel), type,
                        {{panels, matrices * words * lanes}, {matrices, words * lanes}, {words, lanes}, {lanes, 1}});
    HalideBuffer bias(linear.bias.data() + columns.first, ATTUNE_F32, {{panels * lanes, 1}});
    HalideBuffer residual(residual_row, type, {{rows, stride[2]}, {columns.count, 1}});
    HalideBuffer y(element_at(args.y, at[1]), type, {{rows, stride[1]}, {columns.count, 1}});
    if (type == ATTUNE_BF16) weight.get()->type = {halide_type_uint, 32}; // pairs
    void *arguments[10] = {nullptr, x.get(),     weight.get(), bias.get(),    residual.get(),
                           &gated,  &activation, &task.rows,   &task.columns, y.get()};
    return run_kernel(kernel_for(linear, rows), arguments, call);
}

Status check_outputs(const attune_tensor &tensor, const char *name, const attune_linear &linear, const Columns &columns) {
    const int64_t channels = tensor.extent[tensor.rank - 1];
    ATTUNE_REQUIRE(channels == columns.count, "{} has {} channels; the weight [{}, {}] gives {}", name, channels, columns.count, linear.in,
                   columns.count);
    return {};
}

Status check_residual(const attune_linear &linear, const Columns &columns, const attune_linear_args &args) {
    const attune_tensor &residual = *args.residual;
    ATTUNE_TRY(check_tensor(residual, {"residual", linear.dtype, args.x.rank, args.x.rank, Role::input, true}));
    ATTUNE_TRY(check_same_extents(residual, "residual", args.x, "x", args.x.rank - 1));
    ATTUNE_TRY(check_outputs(residual, "residual", linear, columns));
    return check_place({&args.y, "y"}, {&residual, "residual"});
}

Status check_args(const attune_linear &linear, const Columns &columns, const attune_linear_args &args) {
    const int32_t rank = args.x.rank;
    ATTUNE_TRY(check_tensor(args.x, {"x", linear.dtype, 1, ATTUNE_MAX_RANK, Role::input, true}));
    ATTUNE_TRY(check_tensor(args.y, {"y", linear.dtype, rank, rank, Role::output, true}));
    const int64_t channels = args.x.extent[rank - 1];
    ATTUNE_REQUIRE(channels == linear.in, "x has {} channels; the weight [{}, {}] takes {}", channels, linear.out, linear.in, linear.in);
    ATTUNE_TRY(check_same_extents(args.y, "y", args.x, "x", args.x.rank - 1));
    ATTUNE_TRY(check_outputs(args.y, "y", linear, columns));
    ATTUNE_TRY(check_apart({&args.y, "y"}, {&args.x, "x"}));
    return args.residual ? check_residual(linear, columns, args) : Status();
}

} // namespace

Status run_columns(const attune_linear &linear, const Columns &columns, const attune_linear_args &args, attune_call *call) {
    ATTUNE_TRY(check_call(call));
    ATTUNE_TRY(check_args(linear, columns, args));
    Call scope(call);
    if (!has_elements(args.y)) return {};
    return for_each_run_of_rows({&args.x, &args.y, args.residual}, [&](int64_t rows, const auto &stride, const auto &at) {
        return run_rows(linear, columns, args, rows, stride, at, scope);
    });
}

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_linear_args_init(attune_linear_args *args) { reset(args); }

extern "C" attune_status attune_linear_run(const attune_linear *linear, const attune_linear_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(linear != nullptr, "linear is NULL");
        ATTUNE_TRY(check_struct(args, "args", "attune_linear_args_init"));
        return run_columns(*linear, {0, linear->out}, *args, call);
    });
}
