#include <limits>

#include "runtime/src/cuda/device.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/softmax/one_axis.h"
#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

Status check_output(const attune_log_sum_exp_args &args, int32_t axis) {
    const attune_tensor &x = args.x, &y = args.y;
    ATTUNE_TRY(check_tensor(y, {"y", ATTUNE_F32, x.rank, x.rank, Role::output, false, x.device}));
    for (int32_t i = 0; i < x.rank; ++i) {
        const int64_t extent = i == axis ? 1 : x.extent[i];
        ATTUNE_REQUIRE(y.extent[i] == extent, "y.extent[{}] is {}; it must be {}, {}", i, y.extent[i], extent,
                       i == axis ? "for the axis is summed over" : "as in x");
    }
    ATTUNE_REQUIRE(!may_overlap(y, x), "y overlaps x in memory; it must be apart from x");
    return {};
}

/** The sum of nothing. */
Status fill_minus_infinity(const attune_tensor &y, Call &call) {
    if (y.device == ATTUNE_CUDA) {
        CudaDevice device;
        ATTUNE_TRY(find_cuda_device(device));
        return fill_on_device(device, y, minus_infinity_bits, call);
    }
    const JoinedAxes axes({&y}, y.rank);
    JoinedAxes::Index index;
    do
        *static_cast<float *>(element_at(y, index.elements[0])) = -std::numeric_limits<float>::infinity();
    while (axes.advance(index));
    return {};
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_log_sum_exp_args_init(attune_log_sum_exp_args *args) {
    if (reset(args)) args->axis = -1, args->temperature = 1.0f;
}

extern "C" attune_status attune_log_sum_exp(const attune_log_sum_exp_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_log_sum_exp_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_device(args->x.device, "x"));
        ATTUNE_TRY(check_tensor(args->x, {"x", ATTUNE_F32, 1, ATTUNE_MAX_RANK, Role::input, false, args->x.device}));
        int32_t axis = 0;
        ATTUNE_TRY(check_axis(args->axis, args->x, axis));
        ATTUNE_TRY(check_output(*args, axis));
        ATTUNE_TRY(check_axis_mask(args->mask, args->x, args->y));
        ATTUNE_TRY(check_temperature(args->temperature));
        Call scope(call);
        ATTUNE_TRY(run_one_axis(
            {"log_sum_exp", "log_sum_exp_columns", args->schedule, args->x, args->y, args->mask, axis, args->temperature}, scope));
        return has_elements(args->x) || !has_elements(args->y) ? Status() : fill_minus_infinity(args->y, scope);
    });
}
