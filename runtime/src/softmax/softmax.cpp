#include "runtime/src/error.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/softmax/one_axis.h"
#include "runtime/src/tensor/tensor.h"

using namespace attune::runtime;

extern "C" void attune_softmax_args_init(attune_softmax_args *args) {
    if (reset(args)) args->axis = -1, args->temperature = 1.0f;
}

extern "C" attune_status attune_softmax(const attune_softmax_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_softmax_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_device(args->x.device, "x"));
        ATTUNE_TRY(check_type(args->x.type, "x", float_types));
        ATTUNE_TRY(check_pair(args->x, args->y, 1, ATTUNE_MAX_RANK, true, args->x.device, args->x.type));
        int32_t axis = 0;
        ATTUNE_TRY(check_axis(args->axis, args->x, axis));
        ATTUNE_TRY(check_axis_mask(args->mask, args->x, args->y));
        ATTUNE_TRY(check_temperature(args->temperature));
        Call scope(call);
        return run_one_axis({args->log ? "log_softmax" : "softmax", args->log ? "log_softmax_columns" : "softmax_columns", args->schedule,
                             args->x, args->y, args->mask, axis, args->temperature},
                            scope);
    });
}
