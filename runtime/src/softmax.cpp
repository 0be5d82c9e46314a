#include <algorithm>

#include "call.h"
#include "elementwise.h"
#include "error.h"
#include "halide_buffer.h"
#include "temperature.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

/** An axis of rows, with the strides of x and y along it. */
struct RowAxis {
    int64_t extent = 1;
    int64_t x = 0;
    int64_t y = 0;
};

/** The leading axes in as few as can be. The longest is the kernel's own, `rows`; the others are looped over. */
struct RowAxes {
    RowAxis axis[ATTUNE_MAX_RANK];
    int count = 0;
    RowAxis rows;
};

/** Two axes are one where the outer stride is the inner stride times the inner extent, in x and y. */
bool joins(const RowAxis &outer, const RowAxis &inner) { return outer.x == inner.x * inner.extent && outer.y == inner.y * inner.extent; }

RowAxes join_axes(const attune_tensor &x, const attune_tensor &y) {
    RowAxes axes;
    for (int32_t i = x.rank - 2; i >= 0; --i) {
        if (x.extent[i] == 1) continue;
        const RowAxis outer = {x.extent[i], x.stride[i], y.stride[i]};
        RowAxis *inner = axes.count > 0 ? &axes.axis[axes.count - 1] : nullptr;
        if (inner && joins(outer, *inner) && inner->extent * outer.extent <= INT32_MAX) {
            inner->extent *= outer.extent;
        } else {
            axes.axis[axes.count++] = outer;
        }
    }
    if (axes.count == 0) return axes;
    RowAxis *longest =
        std::max_element(axes.axis, axes.axis + axes.count, [](const RowAxis &a, const RowAxis &b) { return a.extent < b.extent; });
    axes.rows = *longest;
    *longest = axes.axis[--axes.count];
    return axes;
}

/** Moves to the next index of the looped axes; false after the last. */
bool advance(const RowAxes &axes, int64_t (&index)[ATTUNE_MAX_RANK]) {
    for (int i = 0; i < axes.count; ++i) {
        if (++index[i] < axes.axis[i].extent) return true;
        index[i] = 0;
    }
    return false;
}

Status run_rows(const attune_kernel &kernel, const attune_softmax_args &args, const RowAxes &axes, const float *x, float *y, Call &call) {
    const int64_t width = args.x.extent[args.x.rank - 1];
    HalideBuffer in(x, ATTUNE_F32, {{axes.rows.extent, axes.rows.x}, {width, 1}});
    HalideBuffer out(y, ATTUNE_F32, {{axes.rows.extent, axes.rows.y}, {width, 1}});
    float temperature = kernel_temperature(args.temperature);
    void *arguments[4] = {nullptr, in.get(), &temperature, out.get()};
    return run_kernel(kernel, arguments, call);
}

Status run_softmax(const attune_kernel &kernel, const attune_softmax_args &args, Call &call) {
    const RowAxes axes = join_axes(args.x, args.y);
    int64_t index[ATTUNE_MAX_RANK] = {};
    do {
        const auto *x = static_cast<const float *>(args.x.data);
        auto *y = static_cast<float *>(args.y.data);
        for (int i = 0; i < axes.count; ++i)
            x += index[i] * axes.axis[i].x, y += index[i] * axes.axis[i].y;
        ATTUNE_TRY(run_rows(kernel, args, axes, x, y, call));
    } while (advance(axes, index));
    return {};
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_softmax_args_init(attune_softmax_args *args) {
    if (!args) return;
    *args = {};
    args->struct_size = sizeof(*args);
    args->temperature = 1.0f;
}

extern "C" attune_status attune_softmax(const attune_softmax_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_softmax_args_init"));
        ATTUNE_TRY(check_call(call));
        ATTUNE_TRY(check_pair(args->x, args->y, 1, ATTUNE_MAX_RANK));
        ATTUNE_REQUIRE(args->temperature > 0, "temperature is {}; it must be above 0", args->temperature);
        const attune_kernel *kernel = nullptr;
        ATTUNE_TRY(find_elementwise(args->log ? "log_softmax" : "softmax", args->schedule, kernel));
        Call scope(call);
        return has_elements(args->x) ? run_softmax(*kernel, *args, scope) : Status();
    });
}
