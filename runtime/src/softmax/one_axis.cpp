#include "runtime/src/softmax/one_axis.h"

#include <algorithm>

#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/kernel/stream.h"
#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

using Axis = JoinedAxes::Axis;

constexpr int of_x = 0, of_y = 1, of_mask = 2; // in what JoinedAxes has of each tensor

/** The axes as the kernel takes them: that of the softmax, one beside it that its vectors may run along, and the longest of the others,
 * in as few as can be. What is left is looped over. */
struct Axes {
    Axis along, column, row;
    JoinedAxes looped;
    bool contiguous; // along: the kernel's vectors run along it
};

bool has_unit_strides(const Axis &axis) { return axis.stride[of_x] == 1 && axis.stride[of_y] == 1; }

Axis axis_of(const OneAxis &p, int32_t i) {
    return {p.x.extent[i], {effective_stride(p.x, i), effective_stride(p.y, i), p.mask ? effective_stride(*p.mask, i) : 0}};
}

Axes arrange(const OneAxis &p) {
    Axes axes;
    axes.along = axis_of(p, p.axis);
    const bool whole = axes.along.extent == 1; // then no stride of it is ever used
    const bool one = p.y.extent[p.axis] == 1;
    if (whole) axes.along.stride[of_x] = 1;
    if (one) axes.along.stride[of_y] = 1;
    axes.contiguous = has_unit_strides(axes.along);
    JoinedAxes &others = axes.looped;
    for (int32_t i = p.x.rank - 1; i >= 0; --i)
        if (i != p.axis) others.add(axis_of(p, i));
    Axis *column = axes.contiguous ? others.end() : std::find_if(others.begin(), others.end(), has_unit_strides);
    // Without one a kernel of vectors across columns works on one at a time.
    axes.column = column == others.end() ? Axis{1, {1, 1, 0}} : others.take(column);
    if (!others.empty())
        axes.row = others.take(std::max_element(others.begin(), others.end(), [](auto &a, auto &b) { return a.extent < b.extent; }));
    return axes;
}

/** `at` is the element of each tensor at index 0 of the kernel's three axes. */
Status run_at(const attune_kernel &kernel, const OneAxis &p, const Axes &axes, const JoinedAxes::Each &at, Call &call) {
    const Axis &along = axes.along, &column = axes.column, &row = axes.row;
    const attune_device device = p.x.device;
    const void *x_data = element_at(p.x, at[of_x]);
    const uint8_t all = 1;
    const void *no_mask = device == ATTUNE_CUDA ? x_data : &all; // it isn't read
    int32_t use_mask = p.mask != nullptr;
    float temperature = p.temperature;
    HalideBuffer x(x_data, p.x.type,
                   {{row.extent, row.stride[of_x]}, {along.extent, along.stride[of_x]}, {column.extent, column.stride[of_x]}}, device);
    HalideBuffer y(element_at(p.y, at[of_y]), p.y.type,
                   {{row.extent, row.stride[of_y]}, {p.y.extent[p.axis], along.stride[of_y]}, {column.extent, column.stride[of_y]}},
                   device);
    HalideBuffer mask(p.mask ? element_at(*p.mask, at[of_mask]) : no_mask, ATTUNE_BOOL,
                      {{row.extent, row.stride[of_mask]}, {along.extent, along.stride[of_mask]}, {column.extent, column.stride[of_mask]}},
                      device);
    void *arguments[6] = {nullptr, x.get(), mask.get(), &use_mask, &temperature, y.get()};
    return run_kernel(kernel, arguments, call);
}

Status run_all(const attune_kernel &kernel, const OneAxis &p, const Axes &axes, Call &call) {
    const PartsOfOutput parts(axes.looped.empty() ? 0 : packed_bytes(p.y));
    JoinedAxes::Index index;
    do
        ATTUNE_TRY(run_at(kernel, p, axes, index.elements, call));
    while (axes.looped.advance(index));
    return {};
}

// Lengths of rows on a GPU. Measured on an H200, of kernels that read a row three times: rows of 1024 take two thirds of the time by a warp
// each that they take by a thread block, of 2048 1.4 times as long; of 8192 by the widest block 1.7 times, of 50257 in f32 0.6 times.
constexpr int64_t longest_row_of_warp = 1024, longest_row_of_block = 16384;

/** The schedule for rows so long on a GPU, where none is named. */
const char *schedule_for(int64_t length) {
    return length <= longest_row_of_warp ? "warps" : length <= longest_row_of_block ? "simt" : "wide";
}

/** The kernel of the schedule that was named, or of Attune's choice; where that isn't linked in, of the usual one. */
Status choose_kernel(const OneAxis &p, const Axes &axes, const attune_kernel *&kernel, Call &call) {
    const char *operation = axes.contiguous ? p.operation : p.columns;
    const attune_device device = p.x.device;
    const bool chooses = !p.schedule && device == ATTUNE_CUDA && axes.contiguous;
    if (chooses && find_function_kernel(operation, schedule_for(axes.along.extent), device, call, kernel, p.x.type).ok()) return {};
    return find_function_kernel(operation, p.schedule, device, call, kernel, p.x.type);
}

} // namespace

Status check_axis(int32_t given, const attune_tensor &x, int32_t &axis) {
    ATTUNE_REQUIRE(given >= -x.rank && given < x.rank, "axis is {}; it must be {} to {}, for x has rank {}", given, -x.rank, x.rank - 1,
                   x.rank);
    axis = given < 0 ? given + x.rank : given;
    return {};
}

Status check_temperature(float temperature) {
    ATTUNE_REQUIRE(temperature > 0, "temperature is {}; it must be above 0", temperature);
    return {};
}

Status check_axis_mask(const attune_tensor *mask, const attune_tensor &x, const attune_tensor &y) {
    if (!mask) return {};
    ATTUNE_TRY(check_tensor(*mask, {"mask", ATTUNE_BOOL, x.rank, x.rank, Role::input, false, x.device}));
    for (int32_t i = 0; i < x.rank; ++i)
        ATTUNE_REQUIRE(mask->extent[i] == x.extent[i] || mask->extent[i] == 1, "mask.extent[{}] is {}; it must be 1 or {}, as in x", i,
                       mask->extent[i], x.extent[i]);
    return check_apart({&y, "y"}, {mask, "mask"});
}

Status run_one_axis(const OneAxis &problem, Call &call) {
    const Axes axes = arrange(problem);
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(choose_kernel(problem, axes, kernel, call));
    return has_elements(problem.x) ? run_all(*kernel, problem, axes, call) : Status();
}

} // namespace attune::runtime
