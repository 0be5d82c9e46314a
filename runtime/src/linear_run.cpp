#include "call.h"
#include "error.h"
#include "halide_buffer.h"
#include "linear.h"
#include "overlap.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

/** Rows a fixed step apart, in all three tensors. */
struct Rows {
    int64_t extent = 1;
    int64_t x = 0;
    int64_t y = 0;
    int64_t residual = 0;

    bool continues(const Rows &inner) const {
        return x == inner.x * inner.extent && y == inner.y * inner.extent && residual == inner.residual * inner.extent &&
               inner.extent * extent <= INT32_MAX;
    }
};

/** The leading axes, innermost first, in as few as can be. */
struct Axes {
    Rows axis[ATTUNE_MAX_RANK];
    int count = 0;
};

Axes leading_axes(const attune_linear_args &args) {
    Axes axes;
    for (int32_t i = args.x.rank - 2; i >= 0; --i) {
        const int64_t residual = args.residual ? effective_stride(*args.residual, i) : 0;
        const Rows rows = {args.x.extent[i], effective_stride(args.x, i), effective_stride(args.y, i), residual};
        if (rows.extent == 1) continue;
        if (axes.count > 0 && rows.continues(axes.axis[axes.count - 1]))
            axes.axis[axes.count - 1].extent *= rows.extent;
        else
            axes.axis[axes.count++] = rows;
    }
    return axes;
}

/** Where a kernel begins, in elements. */
struct Place {
    int64_t x = 0;
    int64_t y = 0;
    int64_t residual = 0;
};

const void *at(const void *data, int64_t element, attune_type type) {
    return static_cast<const char *>(data) + element * static_cast<int64_t>(element_size(type));
}

Status run_rows(const attune_linear &linear, const attune_linear_args &args, const Rows &rows, const Place &place, Call &call) {
    const PackedWeights &weights = linear.weights;
    const int64_t lanes = PackedWeights::panel_columns, words = weights.words(), matrices = weights.matrices();
    const attune_type type = linear.dtype;
    int32_t gated = linear.gated, activation = linear.activation;
    const void *residual_row = args.residual ? at(args.residual->data, place.residual, type) : linear.zeros.data();
    HalideBuffer x(at(args.x.data, place.x, type), type, {{rows.extent, rows.x}, {linear.in, 1}});
    HalideBuffer weight(weights.data(), type,
                        {{weights.panels(), matrices * words * lanes}, {matrices, words * lanes}, {words, lanes}, {lanes, 1}});
    HalideBuffer bias(linear.bias.data(), ATTUNE_F32, {{weights.panels() * lanes, 1}});
    HalideBuffer residual(residual_row, type, {{rows.extent, rows.residual}, {linear.out, 1}});
    HalideBuffer y(at(args.y.data, place.y, type), type, {{rows.extent, rows.y}, {linear.out, 1}});
    if (type == ATTUNE_BF16) weight.get()->type = {halide_type_uint, 32}; // pairs
    void *arguments[8] = {nullptr, x.get(), weight.get(), bias.get(), residual.get(), &gated, &activation, y.get()};
    return run_kernel(kernel_for(linear, rows.extent), arguments, call);
}

/** The innermost `depth` axes from `place` on. */
Status run_axes(const attune_linear &linear, const attune_linear_args &args, const Axes &axes, int depth, Place place, Call &call) {
    if (depth == 0) return run_rows(linear, args, {}, place, call);
    const Rows &rows = axes.axis[depth - 1];
    if (depth == 1) return run_rows(linear, args, rows, place, call);
    for (int64_t i = 0; i < rows.extent; ++i) {
        ATTUNE_TRY(run_axes(linear, args, axes, depth - 1, place, call));
        place.x += rows.x, place.y += rows.y, place.residual += rows.residual;
    }
    return {};
}

Status check_leading(const attune_tensor &tensor, const char *name, const attune_tensor &x) {
    for (int32_t i = 0; i + 1 < x.rank; ++i)
        ATTUNE_REQUIRE(tensor.extent[i] == x.extent[i], "{}.extent[{}] is {}; it must be {}, as in x", name, i, tensor.extent[i],
                       x.extent[i]);
    return {};
}

Status check_outputs(const attune_tensor &tensor, const char *name, const attune_linear &linear) {
    const int64_t channels = tensor.extent[tensor.rank - 1];
    ATTUNE_REQUIRE(channels == linear.out, "{} has {} channels; the weight [{}, {}] gives {}", name, channels, linear.out, linear.in,
                   linear.out);
    return {};
}

Status check_residual(const attune_linear &linear, const attune_linear_args &args) {
    const attune_tensor &residual = *args.residual;
    ATTUNE_TRY(check_tensor(residual, {"residual", linear.dtype, args.x.rank, args.x.rank, Role::input, true}));
    ATTUNE_TRY(check_leading(residual, "residual", args.x));
    ATTUNE_TRY(check_outputs(residual, "residual", linear));
    ATTUNE_REQUIRE(same_view(residual, args.y) || !may_overlap(args.y, residual),
                   "y overlaps residual in memory; it must be apart from it, or residual itself");
    return {};
}

Status check_args(const attune_linear &linear, const attune_linear_args &args) {
    const int32_t rank = args.x.rank;
    ATTUNE_TRY(check_tensor(args.x, {"x", linear.dtype, 1, ATTUNE_MAX_RANK, Role::input, true}));
    ATTUNE_TRY(check_tensor(args.y, {"y", linear.dtype, rank, rank, Role::output, true}));
    const int64_t channels = args.x.extent[rank - 1];
    ATTUNE_REQUIRE(channels == linear.in, "x has {} channels; the weight [{}, {}] takes {}", channels, linear.out, linear.in, linear.in);
    ATTUNE_TRY(check_leading(args.y, "y", args.x));
    ATTUNE_TRY(check_outputs(args.y, "y", linear));
    ATTUNE_REQUIRE(!may_overlap(args.y, args.x), "y overlaps x in memory; it must be apart from it");
    return args.residual ? check_residual(linear, args) : Status();
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_linear_args_init(attune_linear_args *args) {
    if (!args) return;
    *args = {};
    args->struct_size = sizeof(*args);
}

extern "C" attune_status attune_linear_run(const attune_linear *linear, const attune_linear_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(linear != nullptr, "linear is NULL");
        ATTUNE_TRY(check_struct(args, "args", "attune_linear_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_args(*linear, *args));
        Call scope(call);
        const Axes axes = leading_axes(*args);
        return has_elements(args->y) ? run_axes(*linear, *args, axes, axes.count, {}, scope) : Status();
    });
}
