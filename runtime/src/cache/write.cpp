// New tokens into a cache, in place: strided copies on the CPU, a kernel on a GPU.
#include "runtime/src/cache/token_copy.h"
#include "runtime/src/cuda/cache.h"
#include "runtime/src/error.h"
#include "runtime/src/tensor/integers.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

Status check_tensors(const attune_cache_write_args &args) {
    ATTUNE_TRY(check_type(args.cache.type, "cache", all_types));
    ATTUNE_TRY(check_device(args.cache.device, "cache"));
    ATTUNE_TRY(check_tensor(args.cache, {"cache", args.cache.type, 2, ATTUNE_MAX_RANK, Role::output, false, args.cache.device}));
    return check_tensor(args.update, {"update", args.cache.type, args.cache.rank, args.cache.rank, Role::input, false, args.cache.device});
}

/** Makes the axis one counted from the start. Axis 0 is the batch, whose items have starts of their own. */
Status check_axis(int32_t given, int32_t rank, int32_t &axis) {
    axis = given < 0 ? given + rank : given;
    ATTUNE_REQUIRE(axis >= 1 && axis < rank, "axis is {}; it must be 1 to {}, or {} to -1 counted from the end", given, rank - 1, 1 - rank);
    return {};
}

Status check_shapes(const attune_cache_write_args &args, int32_t axis) {
    for (int32_t i = 0; i < args.cache.rank; ++i)
        ATTUNE_REQUIRE(i == axis || args.update.extent[i] == args.cache.extent[i], "update.extent[{}] is {}; it must be {}, as in cache", i,
                       args.update.extent[i], args.cache.extent[i]);
    ATTUNE_REQUIRE(args.update.extent[axis] <= args.cache.extent[axis], "update.extent[{}] is {}; it must be 0 to {}, the cache's capacity",
                   axis, args.update.extent[axis], args.cache.extent[axis]);
    return {};
}

Status check_starts(const attune_cache_write_args &args, int32_t axis) {
    if (!args.starts) return {};
    const attune_tensor &starts = *args.starts;
    if (args.cache.device == ATTUNE_CUDA) {
        ATTUNE_TRY(check_tensor(starts, {"starts", ATTUNE_I32, 1, 1, Role::input, false, ATTUNE_CUDA}));
        return check_extents(starts, "starts", {{args.cache.extent[0], "the batch of cache"}});
    }
    ATTUNE_TRY(check_integers(starts, "starts", 1));
    ATTUNE_TRY(check_extents(starts, "starts", {{args.cache.extent[0], "the batch of cache"}}));
    const int64_t last = args.cache.extent[axis] - args.update.extent[axis];
    for (int64_t b = 0; b < starts.extent[0]; ++b) {
        const int64_t start = read_integer(starts, b);
        ATTUNE_REQUIRE(start >= 0, "starts[{}] is {}; it must be 0 or more", b, start);
        ATTUNE_REQUIRE(args.circular || start <= last, "starts[{}] is {}; it must be 0 to {}, so that {} tokens fit in a capacity of {}", b,
                       start, last, args.update.extent[axis], args.cache.extent[axis]);
    }
    return {};
}

Status check_overlaps(const attune_cache_write_args &args) {
    ATTUNE_REQUIRE(!may_overlap(args.cache, args.update), "cache overlaps update in memory; it must be apart from what is written to it");
    ATTUNE_REQUIRE(!args.starts || !may_overlap(args.cache, *args.starts), "cache overlaps starts in memory; it must be apart from them");
    return {};
}

void write_item(const attune_cache_write_args &args, int32_t axis, int64_t b) {
    const int64_t capacity = args.cache.extent[axis];
    const int64_t tokens = args.update.extent[axis];
    const int64_t start = (args.starts ? read_integer(*args.starts, b) : 0) % capacity;
    const int64_t before_the_end = tokens < capacity - start ? tokens : capacity - start;
    copy_tokens(args.cache, {b, start}, args.update, {b, 0}, before_the_end, axis);
    copy_tokens(args.cache, {b, 0}, args.update, {b, before_the_end}, tokens - before_the_end, axis);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_cache_write_args_init(attune_cache_write_args *args) {
    if (reset(args)) args->axis = -2;
}

extern "C" attune_status attune_cache_write(const attune_cache_write_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_cache_write_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_tensors(*args));
        int32_t axis = 0;
        ATTUNE_TRY(check_axis(args->axis, args->cache.rank, axis));
        ATTUNE_TRY(check_shapes(*args, axis));
        ATTUNE_TRY(check_starts(*args, axis));
        ATTUNE_TRY(check_overlaps(*args));
        if (args->cache.device == ATTUNE_CUDA) return cache_write_on_device(*args, axis, call);
        for (int64_t b = 0; has_elements(args->update) && b < args->cache.extent[0]; ++b)
            write_item(*args, axis, b);
        return {};
    });
}
