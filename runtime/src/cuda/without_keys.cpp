#include <algorithm>

#include "runtime/src/cuda/attention.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

constexpr unsigned device_memory = 2; // of CUDA_MEMCPY2D

/** A column of a matrix of f32 on the device. */
struct Column {
    CudaPointer at;
    int64_t stride; // elements, from one row to the next
};

CudaPointer address(const attune_tensor &tensor, int64_t element) { return reinterpret_cast<CudaPointer>(element_at(tensor, element)); }

/** Copies `width` columns of `rows` rows. */
Status copy_columns(const CudaDevice &device, const Column &from, const Column &to, int64_t width, int64_t rows, Call &call) {
    CudaCopy2D copy = {};
    copy.src_type = copy.dst_type = device_memory;
    copy.src_device = from.at, copy.dst_device = to.at;
    copy.width = static_cast<size_t>(width) * 4, copy.height = static_cast<size_t>(rows);
    copy.src_pitch = std::max(static_cast<size_t>(from.stride) * 4, copy.width);
    copy.dst_pitch = std::max(static_cast<size_t>(to.stride) * 4, copy.width);
    return check_cuda(*device.driver, device.driver->copy(&copy, call.context().cuda_stream), "copy sinks");
}

/** Each row of a head is its sink: written to the first column, which is then doubled until all have it. */
Status write_sinks(const CudaDevice &device, const attune_tensor &lse, const attune_tensor &sinks, Call &call) {
    const CurrentContext current(device);
    const int64_t heads = lse.extent[1], queries = lse.extent[2], stride = effective_stride(lse, 1);
    for (int64_t b = 0; b < lse.extent[0]; ++b) {
        const int64_t first = b * effective_stride(lse, 0);
        // One head after another: a pitch can't be 0 or negative, as a stride can.
        for (int64_t h = 0; h < heads; ++h)
            ATTUNE_TRY(copy_columns(device, {address(sinks, h * effective_stride(sinks, 0)), 1}, {address(lse, first + h * stride), 1}, 1,
                                    1, call));
        for (int64_t done = 1; done < queries; done *= 2)
            ATTUNE_TRY(copy_columns(device, {address(lse, first), stride}, {address(lse, first + done), stride},
                                    std::min(done, queries - done), heads, call));
    }
    return {};
}

} // namespace

Status answer_without_keys(const CudaDevice &device, const attune_attention_args &args, Call &call) {
    ATTUNE_TRY(fill_on_device(device, args.out, 0, call));
    if (!args.lse) return {};
    if (!args.sinks) return fill_on_device(device, *args.lse, minus_infinity_bits, call);
    return write_sinks(device, *args.lse, *args.sinks, call);
}

} // namespace attune::runtime
