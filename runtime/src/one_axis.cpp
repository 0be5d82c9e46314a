#include "one_axis.h"

#include <algorithm>

#include "elementwise.h"
#include "halide_buffer.h"
#include "overlap.h"
#include "stream.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

/** An axis of x, y and the mask, with their strides along it. */
struct Axis {
    int64_t extent = 1;
    int64_t x = 0;
    int64_t y = 0;
    int64_t mask = 0;
};

/** The axes as the kernel takes them: that of the softmax, one beside it that its vectors may run along, and the longest of the others,
 * in as few as can be. What is left is looped over. */
struct Axes {
    Axis along, column, row;
    Axis looped[ATTUNE_MAX_RANK];
    int count = 0;
    bool contiguous; // along: the kernel's vectors run along it
};

bool has_unit_strides(const Axis &axis) { return axis.x == 1 && axis.y == 1; }

/** Two axes are one where the outer stride is the inner stride times the inner extent, in all tensors. */
bool joins(const Axis &outer, const Axis &inner) {
    return outer.x == inner.x * inner.extent && outer.y == inner.y * inner.extent && outer.mask == inner.mask * inner.extent &&
           inner.extent * outer.extent <= INT32_MAX;
}

Axis axis_of(const OneAxis &p, int32_t i) {
    return {p.x.extent[i], effective_stride(p.x, i), effective_stride(p.y, i), p.mask ? effective_stride(*p.mask, i) : 0};
}

void join_others(const OneAxis &p, Axes &axes) {
    for (int32_t i = p.x.rank - 1; i >= 0; --i) {
        const Axis outer = axis_of(p, i);
        if (i == p.axis || outer.extent == 1) continue;
        if (axes.count > 0 && joins(outer, axes.looped[axes.count - 1]))
            axes.looped[axes.count - 1].extent *= outer.extent;
        else
            axes.looped[axes.count++] = outer;
    }
}

/** Takes one of the looped axes for the kernel. */
void take(Axes &axes, Axis *from, Axis &to) {
    to = *from;
    *from = axes.looped[--axes.count];
}

Axes arrange(const OneAxis &p) {
    Axes axes;
    axes.along = axis_of(p, p.axis);
    const bool whole = axes.along.extent == 1; // then no stride of it is ever used
    const bool one = p.y.extent[p.axis] == 1;
    axes.contiguous = whole || (axes.along.x == 1 && (one || axes.along.y == 1));
    if (whole) axes.along.x = 1;
    if (one) axes.along.y = 1;
    join_others(p, axes);
    Axis *end = axes.looped + axes.count;
    Axis *column = axes.contiguous ? end : std::find_if(axes.looped, end, has_unit_strides);
    if (column == end)
        axes.column = {1, 1, 1, 0}; // a kernel of vectors across columns then works on one at a time
    else
        take(axes, column, axes.column);
    end = axes.looped + axes.count;
    if (axes.count > 0) take(axes, std::max_element(axes.looped, end, [](auto &a, auto &b) { return a.extent < b.extent; }), axes.row);
    return axes;
}

/** Where the kernel works: the element at index 0 of its three axes. */
struct Place {
    const char *x;
    char *y;
    const uint8_t *mask;
};

Status run_at(const attune_kernel &kernel, const OneAxis &p, const Axes &axes, const Place &at, Call &call) {
    const Axis &along = axes.along, &column = axes.column, &row = axes.row;
    const attune_device device = p.x.device;
    const uint8_t all = 1;
    const void *no_mask = device == ATTUNE_CUDA ? static_cast<const void *>(at.x) : &all; // it isn't read
    int32_t use_mask = p.mask != nullptr;
    float temperature = p.temperature;
    HalideBuffer x(at.x, p.x.type, {{row.extent, row.x}, {along.extent, along.x}, {column.extent, column.x}}, device);
    HalideBuffer y(at.y, p.y.type, {{row.extent, row.y}, {p.y.extent[p.axis], along.y}, {column.extent, column.y}}, device);
    HalideBuffer mask(p.mask ? at.mask : no_mask, ATTUNE_BOOL,
                      {{row.extent, row.mask}, {along.extent, along.mask}, {column.extent, column.mask}}, device);
    void *arguments[6] = {nullptr, x.get(), mask.get(), &use_mask, &temperature, y.get()};
    return run_kernel(kernel, arguments, call);
}

/** Moves to the next index of the looped axes; false after the last. */
bool advance(const Axes &axes, int64_t (&index)[ATTUNE_MAX_RANK]) {
    for (int i = 0; i < axes.count; ++i) {
        if (++index[i] < axes.looped[i].extent) return true;
        index[i] = 0;
    }
    return false;
}

Status run_all(const attune_kernel &kernel, const OneAxis &p, const Axes &axes, Call &call) {
    const PartsOfOutput parts(axes.count > 0 ? packed_bytes(p.y) : 0);
    const auto x_bytes = static_cast<int64_t>(element_size(p.x.type)), y_bytes = static_cast<int64_t>(element_size(p.y.type));
    int64_t index[ATTUNE_MAX_RANK] = {};
    do {
        Place at = {static_cast<const char *>(p.x.data), static_cast<char *>(p.y.data),
                    p.mask ? static_cast<const uint8_t *>(p.mask->data) : nullptr};
        for (int i = 0; i < axes.count; ++i) {
            const Axis &axis = axes.looped[i];
            at.x += index[i] * axis.x * x_bytes, at.y += index[i] * axis.y * y_bytes;
            if (at.mask) at.mask += index[i] * axis.mask;
        }
        ATTUNE_TRY(run_at(kernel, p, axes, at, call));
    } while (advance(axes, index));
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
    if (chooses && find_elementwise(operation, schedule_for(axes.along.extent), device, call, kernel, p.x.type).ok()) return {};
    return find_elementwise(operation, p.schedule, device, call, kernel, p.x.type);
}

} // namespace

Status check_axis(int32_t given, const attune_tensor &x, int32_t &axis) {
    ATTUNE_REQUIRE(given >= -x.rank && given < x.rank, "axis is {}; it must be {} to {}, for x has rank {}", given, -x.rank, x.rank - 1,
                   x.rank);
    axis = given < 0 ? given + x.rank : given;
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
