#include "call.h"
#include "elementwise.h"
#include "error.h"
#include "halide_buffer.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

Status check_sinusoidal(const attune_sinusoidal_args &args) {
    ATTUNE_TRY(check_tensor(args.y, {"y", ATTUNE_F32, 2, 2, Role::output, true}));
    ATTUNE_TRY(check_base(args.base));
    return check_positions(args.offset, args.y.extent[0]);
}

Status run_sinusoidal(const attune_kernel &kernel, const attune_sinusoidal_args &args, Call &call) {
    HalideBuffer y(args.y, 2);
    double base = args.base;
    auto width = static_cast<int32_t>(args.y.extent[1]);
    auto offset = static_cast<int32_t>(args.offset);
    void *arguments[5] = {nullptr, &base, &width, &offset, y.get()};
    return run_kernel(kernel, arguments, call);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_sinusoidal_args_init(attune_sinusoidal_args *args) {
    if (!args) return;
    *args = {};
    args->struct_size = sizeof(*args);
    args->base = 10000.0;
}

extern "C" attune_status attune_sinusoidal(const attune_sinusoidal_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_sinusoidal_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_sinusoidal(*args));
        const attune_kernel *kernel = nullptr;
        ATTUNE_TRY(find_elementwise("sinusoidal", args->schedule, kernel));
        Call scope(call);
        return has_elements(args->y) ? run_sinusoidal(*kernel, *args, scope) : Status();
    });
}
