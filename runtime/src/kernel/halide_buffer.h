// Halide's view of a tensor: axes innermost first, int32 extents and strides. What it is made of has been checked. On ATTUNE_CUDA it has a
// device pointer and no host's, and neither side is dirty: nothing is ever copied.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "attune/attune.h"
#include "runtime/src/kernel/halide_runtime.h"

namespace attune::runtime {

/** An axis, outermost first. */
struct BufferAxis {
    int64_t extent;
    int64_t stride;
};

/** A halide_buffer_t with its axes, of rank 1 to 7. Stays where it is: the one points to the others. */
class HalideBuffer {
public:
    HalideBuffer(const void *data, attune_type type, std::initializer_list<BufferAxis> axes, attune_device device = ATTUNE_CPU);
    /** `tensor` as it is, with leading axes of extent 1 up to `rank`; its innermost stride is 1. */
    HalideBuffer(const attune_tensor &tensor, int32_t rank);
    /** `tensor` with axes of extent 1 stretched to `extents`. */
    HalideBuffer(const attune_tensor &tensor, std::initializer_list<int64_t> extents);
    HalideBuffer(const HalideBuffer &) = delete;
    HalideBuffer &operator=(const HalideBuffer &) = delete;

    halide_buffer_t *get() { return &buffer_; }

    /** Two channels of 16 bits an element: as kernels of `word_channels` 2 take them. The innermost extent and all strides are even. */
    void use_words();

    /** Another axis inside the innermost one, which keeps its place in memory. */
    void add_innermost(int32_t extent, int32_t stride);
    /** Cuts the innermost axis into pieces of `extent`, a divisor of its own. */
    void cut_innermost(int32_t extent);

private:
    void set(const void *data, attune_type type, int32_t rank, attune_device device);
    void set_axis(int32_t outermost_first, int64_t extent, int64_t stride);

    halide_dimension_t axes_[7];
    halide_buffer_t buffer_ = {};
};

} // namespace attune::runtime
