#include "call.h"
#include "elementwise.h"
#include "error.h"
#include "halide_buffer.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

Status check_rotary_dim(int64_t rotary_dim, int64_t dim) {
    if (rotary_dim == 0)
        ATTUNE_REQUIRE(dim % 2 == 0, "rotary_dim is 0 (all of dim) and dim is {}; it must be even, for channels are rotated in pairs", dim);
    else
        ATTUNE_REQUIRE(rotary_dim >= 2 && rotary_dim <= dim && rotary_dim % 2 == 0,
                       "rotary_dim is {}; it must be even and 2 to dim = {}, or 0 for all of dim", rotary_dim, dim);
    return {};
}

Status check_rotary(const attune_rotary_args &args) {
    ATTUNE_TRY(check_pair(args.x, args.y, 2, 4));
    ATTUNE_TRY(check_base(args.base));
    const int layout = raw_value(args.layout);
    ATTUNE_REQUIRE(layout == ATTUNE_ROTARY_HALF || layout == ATTUNE_ROTARY_INTERLEAVED,
                   "layout is {}; it must be ATTUNE_ROTARY_HALF ({}) or ATTUNE_ROTARY_INTERLEAVED ({})", layout,
                   static_cast<int>(ATTUNE_ROTARY_HALF), static_cast<int>(ATTUNE_ROTARY_INTERLEAVED));
    ATTUNE_TRY(check_rotary_dim(args.rotary_dim, args.x.extent[args.x.rank - 1]));
    return check_positions(args.offset, args.x.extent[args.x.rank - 2]);
}

Status run_rotary(const attune_kernel &kernel, const attune_rotary_args &args, Call &call) {
    HalideBuffer x(args.x, 4), y(args.y, 4);
    double base = args.base;
    auto rotary_dim = static_cast<int32_t>(args.rotary_dim > 0 ? args.rotary_dim : args.x.extent[args.x.rank - 1]);
    auto offset = static_cast<int32_t>(args.offset);
    void *arguments[6] = {nullptr, x.get(), &base, &rotary_dim, &offset, y.get()};
    return run_kernel(kernel, arguments, call);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_rotary_args_init(attune_rotary_args *args) {
    if (!args) return;
    *args = {};
    args->struct_size = sizeof(*args);
    args->base = 10000.0;
}

extern "C" attune_status attune_rotary(const attune_rotary_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_rotary_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_rotary(*args));
        const attune_kernel *kernel = nullptr;
        const bool half = args->layout == ATTUNE_ROTARY_HALF;
        ATTUNE_TRY(find_elementwise(half ? "rotary_half" : "rotary_interleaved", args->schedule, kernel));
        Call scope(call);
        return has_elements(args->x) ? run_rotary(*kernel, *args, scope) : Status();
    });
}
