#include "runtime/src/cuda/cache.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** The axes [batch or pages, heads, tokens, dim] of a kernel, out of those of a tensor whose tokens lie along `axis`: the others keep
 * their order, and those that it lacks have extent 1. */
attune_tensor with_kernel_axes(const attune_tensor &t, int32_t axis) {
    attune_tensor made = t;
    made.rank = 4;
    for (int32_t to : {1, 3})
        made.extent[to] = 1, made.stride[to] = 1;
    made.extent[2] = t.extent[axis], made.stride[2] = t.stride[axis];
    int32_t to = 3;
    for (int32_t from = t.rank - 1; from > 0; --from) {
        if (from == axis) continue;
        made.extent[to] = t.extent[from], made.stride[to] = t.stride[from];
        to = 1;
    }
    return made;
}

} // namespace

Status cache_write_on_device(const attune_cache_write_args &args, int32_t axis, attune_call *call) {
    constexpr int32_t highest_rank = 4;
    const attune_type type = args.cache.type;
    if (type != ATTUNE_F32 && type != ATTUNE_F16 && type != ATTUNE_BF16)
        return fail(ATTUNE_UNSUPPORTED, "cache.type is {}; on device cuda it must be f32, f16 or bf16", attune_type_name(type));
    if (args.cache.rank > highest_rank)
        return fail(ATTUNE_UNSUPPORTED, "cache.rank is {}; on device cuda it must be 2 to {}", args.cache.rank, highest_rank);
    const DeviceWrite write = {with_kernel_axes(args.cache, axis), with_kernel_axes(args.update, axis), args.starts, nullptr,
                               args.circular != 0};
    ATTUNE_TRY(write.check("cache", "update"));
    Call scope(call);
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_write_kernel(type, scope, kernel));
    return write_on_device(*kernel, write, scope);
}

} // namespace attune::runtime
