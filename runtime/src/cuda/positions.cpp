#include "runtime/src/cuda/positions.h"

#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

/** What was given, as [own_batch, own_streams, tokens]: its own order is [streams, batch, tokens], from the right. */
attune_tensor view_of(const Positions &p) {
    attune_tensor view = *p.given;
    const auto take = [&](int32_t to, int32_t from) {
        const bool there = from >= 0 && p.given->extent[from] > 1;
        view.extent[to] = there ? p.given->extent[from] : 1;
        view.stride[to] = there ? p.given->stride[from] : 0;
    };
    const int32_t rank = p.given->rank;
    take(0, rank - 2), take(1, rank - 3), take(2, rank - 1);
    view.rank = 3;
    return view;
}

/** A few integers on the GPU. They are kernel arguments of fills, so that nothing is copied from the host. */
Status write_integers(const CudaDevice &device, const int32_t *values, const attune_tensor &to, Call &call) {
    for (int64_t i = 0; i < to.extent[0]; ++i)
        ATTUNE_TRY(fill_on_device(device, slice(to, 0, i, 1), static_cast<uint32_t>(values[i]), call));
    return {};
}

Status make_device_table(const CudaDevice &device, const Encoding &e, const attune_kernel &kernel, const attune_tensor &positions,
                         const attune_tensor &table, Call &call) {
    const int64_t streams = positions.extent[1];
    const StreamEnds ends = e.kind == text::PositionKind::rotary ? stream_ends(e) : StreamEnds();
    DeviceScratch scratch(device, call);
    ATTUNE_TRY(scratch.allocate("the table of positions", sizeof(ends)));
    const attune_tensor on_gpu = contiguous_on_device(scratch.data(), ATTUNE_I32, 1, &streams);
    if (e.kind == text::PositionKind::rotary) ATTUNE_TRY(write_integers(device, ends.end, on_gpu, call));
    return run_table_kernel(e, kernel, positions, on_gpu, table, call);
}

/** As make_table, for all tokens: f32 (batch, token, plane, channel) in `scratch`. */
Status fill_device_table(const CudaDevice &device, const Encoding &e, const Positions &p, const attune_kernel &kernel, const char *schedule,
                         DeviceScratch &scratch, Call &call, attune_tensor &table) {
    DevicePositions numbers(device, call);
    ATTUNE_TRY(numbers.fill(p, schedule));
    const int64_t extents[4] = {numbers.numbers().extent[0], p.tokens, e.planes(), e.channels()};
    int64_t elements = 0;
    ATTUNE_TRY(count_table(e, p, p.tokens, elements));
    ATTUNE_TRY(scratch.allocate("the table of positions", elements * 4));
    table = contiguous_on_device(scratch.data(), ATTUNE_F32, 4, extents);
    ATTUNE_TRY(make_device_table(device, e, kernel, numbers.numbers(), table, call));
    if (table.extent[0] == 1) table.stride[0] = 0;
    table.extent[0] = p.batch;
    return {};
}

} // namespace

Status DevicePositions::fill(const Positions &p, const char *schedule) {
    if (p.given) {
        numbers_ = view_of(p);
        return {};
    }
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_function_kernel("token_positions", schedule, ATTUNE_CUDA, call_, kernel));
    ATTUNE_TRY(scratch_.allocate("positions", p.tokens * 4));
    const int64_t extents[3] = {1, 1, p.tokens};
    numbers_ = contiguous_on_device(scratch_.data(), ATTUNE_I32, 3, extents);
    HalideBuffer out(scratch_.data(), ATTUNE_I32, {{p.tokens, 1}}, ATTUNE_CUDA);
    auto first = static_cast<int32_t>(p.offset);
    void *arguments[3] = {nullptr, &first, out.get()};
    return run_kernel(*kernel, arguments, call_);
}

Status encode_on_device(const Encoding &e, const Positions &p, const attune_tensor &x, const attune_tensor &y, const char *schedule,
                        Call &call) {
    CudaDevice device;
    ATTUNE_TRY(find_cuda_device(device));
    const attune_kernel *apply = nullptr, *make = nullptr;
    ATTUNE_TRY(find_function_kernel(apply_operation(e), schedule, ATTUNE_CUDA, call, apply, x.type));
    if (!e.has_rows()) ATTUNE_TRY(find_function_kernel(table_operation(e), schedule, ATTUNE_CUDA, call, make));
    if (!has_elements(x)) return {};
    DeviceScratch scratch(device, call);
    attune_tensor table;
    if (e.has_rows())
        ATTUNE_TRY(make_table(e, nullptr, p, 0, p.tokens, nullptr, call, table));
    else
        ATTUNE_TRY(fill_device_table(device, e, p, *make, schedule, scratch, call, table));
    return apply_table(e, *apply, x, table, y, call);
}

Status sinusoidal_on_device(const Encoding &e, const Positions &p, const attune_tensor &y, const char *schedule, Call &call) {
    CudaDevice device;
    ATTUNE_TRY(find_cuda_device(device));
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_function_kernel(table_operation(e), schedule, ATTUNE_CUDA, call, kernel, y.type));
    if (!has_elements(y)) return {};
    DevicePositions numbers(device, call);
    ATTUNE_TRY(numbers.fill(p, schedule));
    const int64_t extents[4] = {1, y.extent[0], 1, y.extent[1]};
    attune_tensor table = contiguous_on_device(y.data, y.type, 4, extents);
    table.stride[1] = effective_stride(y, 0);
    return make_device_table(device, e, *kernel, numbers.numbers(), table, call);
}

} // namespace attune::runtime
