#include "runtime/src/position/alibi_slopes.h"

#include "runtime/src/error.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

Status make_alibi_slopes(const char *schedule, const attune_tensor &slopes, Call &call) {
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_function_kernel("alibi_slopes", schedule, slopes.device, call, kernel));
    if (!has_elements(slopes)) return {};
    HalideBuffer buffer(slopes, 1);
    auto heads = static_cast<int32_t>(slopes.extent[0]);
    void *arguments[3] = {nullptr, &heads, buffer.get()};
    return run_kernel(*kernel, arguments, call);
}

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_alibi_slopes_args_init(attune_alibi_slopes_args *args) { reset(args); }

extern "C" attune_status attune_alibi_slopes(const attune_alibi_slopes_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_alibi_slopes_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_device(args->y.device, "y"));
        ATTUNE_TRY(check_tensor(args->y, {"y", ATTUNE_F32, 1, 1, Role::output, true, args->y.device}));
        Call scope(call);
        return make_alibi_slopes(args->schedule, args->y, scope);
    });
}
