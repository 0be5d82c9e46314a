#include "runtime/src/kernel/halide_buffer.h"

#include <algorithm>

#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

halide_type_t halide_type(attune_type type) {
    switch (type) {
    case ATTUNE_F32:
        return {halide_type_float, 32};
    case ATTUNE_F16:
        return {halide_type_float, 16};
    case ATTUNE_BF16:
        return {halide_type_bfloat, 16};
    case ATTUNE_I32:
        return {halide_type_int, 32};
    case ATTUNE_I64:
        return {halide_type_int, 64};
    case ATTUNE_I8:
        return {halide_type_int, 8};
    case ATTUNE_BOOL:
        break;
    }
    return {halide_type_uint, 8};
}

} // namespace

void HalideBuffer::set(const void *data, attune_type type, int32_t rank, attune_device device) {
    if (device == ATTUNE_CUDA) {
        buffer_.device = reinterpret_cast<uintptr_t>(data);
        buffer_.device_interface = halide_cuda_device_interface();
    } else {
        buffer_.host = static_cast<uint8_t *>(const_cast<void *>(data)); // kernels don't write their inputs
    }
    buffer_.type = halide_type(type);
    buffer_.dimensions = rank;
    buffer_.dim = axes_;
}

void HalideBuffer::set_axis(int32_t outermost_first, int64_t extent, int64_t stride) {
    axes_[buffer_.dimensions - 1 - outermost_first] = {0, static_cast<int32_t>(extent), static_cast<int32_t>(stride)};
}

HalideBuffer::HalideBuffer(const void *data, attune_type type, std::initializer_list<BufferAxis> axes, attune_device device) {
    set(data, type, static_cast<int32_t>(axes.size()), device);
    int32_t index = 0;
    for (const BufferAxis &axis : axes)
        set_axis(index++, axis.extent, axis.stride);
}

void HalideBuffer::use_words() {
    buffer_.type = {halide_type_uint, 32};
    axes_[0].extent /= 2;
    for (int32_t i = 1; i < buffer_.dimensions; ++i)
        axes_[i].stride /= 2;
}

void HalideBuffer::add_innermost(int32_t extent, int32_t stride) {
    std::copy_backward(axes_, axes_ + buffer_.dimensions, axes_ + buffer_.dimensions + 1);
    axes_[0] = {0, extent, stride};
    ++buffer_.dimensions;
}

void HalideBuffer::cut_innermost(int32_t extent) {
    axes_[0].extent /= extent;
    axes_[0].stride *= extent;
    add_innermost(extent, axes_[0].stride / extent);
}

HalideBuffer::HalideBuffer(const attune_tensor &tensor, int32_t rank) {
    set(tensor.data, tensor.type, rank, tensor.device);
    const int32_t added = rank - tensor.rank;
    for (int32_t i = 0; i < rank; ++i)
        set_axis(i, i < added ? 1 : tensor.extent[i - added], i < added ? 0 : effective_stride(tensor, i - added));
    axes_[0].stride = 1; // kernels ask for it, also where the extent is 1
}

HalideBuffer::HalideBuffer(const attune_tensor &tensor, std::initializer_list<int64_t> extents) {
    set(tensor.data, tensor.type, tensor.rank, tensor.device);
    int32_t index = 0;
    for (int64_t extent : extents) {
        set_axis(index, extent, effective_stride(tensor, index));
        ++index;
    }
}

} // namespace attune::runtime
