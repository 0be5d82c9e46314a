#include "runtime/src/error.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** One result: [B,H,N,Dv] and [B,H,N], as a has them, on its device. */
Status check_result(const NamedTensor &out, const NamedTensor &lse, Role role, const attune_tensor &a) {
    ATTUNE_TRY(check_tensor(*out.tensor, {out.name, ATTUNE_F32, 4, 4, role, true, a.device}));
    ATTUNE_TRY(check_tensor(*lse.tensor, {lse.name, ATTUNE_F32, 3, 3, role, true, a.device}));
    const ExtentRule batch = {a.extent[0], "the batch of a"}, heads = {a.extent[1], "the heads of a"};
    const ExtentRule tokens = {a.extent[2], "the tokens of a"}, width = {a.extent[3], "the width of a"};
    ATTUNE_TRY(check_extents(*out.tensor, out.name, {batch, heads, tokens, width}));
    return check_extents(*lse.tensor, lse.name, {batch, heads, tokens});
}

Status check_merge(const attune_merge_args &args) {
    const NamedTensor a = {&args.a, "a"}, a_lse = {&args.a_lse, "a_lse"}, b = {&args.b, "b"}, b_lse = {&args.b_lse, "b_lse"};
    const NamedTensor out = {&args.out, "out"}, lse = {&args.lse, "lse"};
    ATTUNE_TRY(check_device(args.a.device, "a"));
    ATTUNE_TRY(check_result(a, a_lse, Role::input, args.a));
    ATTUNE_REQUIRE(args.a.extent[3] >= 1, "a.extent[3] is {}; it must be at least 1", args.a.extent[3]);
    ATTUNE_TRY(check_result(b, b_lse, Role::input, args.a));
    ATTUNE_TRY(check_result(out, lse, Role::output, args.a));
    // An output may take the place of an input of its own kind, and touches nothing else.
    ATTUNE_TRY(check_place(out, a));
    ATTUNE_TRY(check_place(out, b));
    ATTUNE_TRY(check_place(lse, a_lse));
    ATTUNE_TRY(check_place(lse, b_lse));
    for (const NamedTensor *other : {&a_lse, &b_lse, &lse})
        ATTUNE_TRY(check_apart(out, *other));
    ATTUNE_TRY(check_apart(lse, a));
    return check_apart(lse, b);
}

Status run_merge(const attune_kernel &kernel, const attune_merge_args &args, Call &call) {
    HalideBuffer a(args.a, 4), a_lse(args.a_lse, 3), b(args.b, 4), b_lse(args.b_lse, 3), out(args.out, 4), lse(args.lse, 3);
    void *arguments[7] = {nullptr, a.get(), a_lse.get(), b.get(), b_lse.get(), out.get(), lse.get()};
    return run_kernel(kernel, arguments, call);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_merge_args_init(attune_merge_args *args) { reset(args); }

extern "C" attune_status attune_merge(const attune_merge_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_merge_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_merge(*args));
        Call scope(call);
        const attune_kernel *kernel = nullptr;
        ATTUNE_TRY(find_function_kernel("merge", args->schedule, args->a.device, scope, kernel));
        return has_elements(args->a) ? run_merge(*kernel, *args, scope) : Status();
    });
}
