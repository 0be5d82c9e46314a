#include "runtime/src/cuda/positions.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/position/encoding.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

Positions rows_of(const attune_sinusoidal_args &args) {
    Positions rows;
    rows.offset = args.offset;
    rows.tokens = args.y.extent[0];
    return rows;
}

Encoding encoding_of(const attune_sinusoidal_args &args) {
    Encoding encoding;
    encoding.kind = text::PositionKind::sinusoidal;
    encoding.base = args.base;
    encoding.dim = args.y.extent[1];
    return encoding;
}

Status check_sinusoidal(const attune_sinusoidal_args &args) {
    ATTUNE_TRY(check_device(args.y.device, "y"));
    ATTUNE_TRY(check_type(args.y.type, "y", float_types));
    ATTUNE_TRY(check_tensor(args.y, {"y", args.y.type, 2, 2, Role::output, true, args.y.device}));
    ATTUNE_TRY(check_base(args.base));
    return check_positions(rows_of(args));
}

Status run_sinusoidal(const attune_kernel &kernel, const attune_sinusoidal_args &args, Call &call) {
    const int64_t tokens = args.y.extent[0], dim = args.y.extent[1];
    Scratch<int32_t> numbers(call);
    if (!numbers.allocate(static_cast<size_t>(tokens))) return out_of_memory("positions", tokens * 4);
    write_positions(rows_of(args), 0, tokens, numbers.data());
    HalideBuffer positions(numbers.data(), ATTUNE_I32, {{1, 0}, {tokens, 1}});
    HalideBuffer y(args.y.data, args.y.type, {{1, 0}, {tokens, effective_stride(args.y, 0)}, {1, 0}, {dim, 1}});
    double base = args.base;
    auto width = static_cast<int32_t>(dim);
    void *arguments[5] = {nullptr, positions.get(), &base, &width, y.get()};
    return run_kernel(kernel, arguments, call);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_sinusoidal_args_init(attune_sinusoidal_args *args) {
    if (reset(args)) args->base = 10000.0;
}

extern "C" attune_status attune_sinusoidal(const attune_sinusoidal_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_sinusoidal_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_sinusoidal(*args));
        Call scope(call);
        if (args->y.device == ATTUNE_CUDA) return sinusoidal_on_device(encoding_of(*args), rows_of(*args), args->y, args->schedule, scope);
        const attune_kernel *kernel = nullptr;
        ATTUNE_TRY(find_function_kernel("sinusoidal", args->schedule, kernel, args->y.type));
        return has_elements(args->y) ? run_sinusoidal(*kernel, *args, scope) : Status();
    });
}
