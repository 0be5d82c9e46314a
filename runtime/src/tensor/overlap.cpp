#include "runtime/src/tensor/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** Bytes [begin, end). */
struct Span {
    int64_t begin;
    int64_t end;
};

struct Axis {
    int64_t step; // bytes, not zero
    int64_t last; // highest index
};

/** The axes along which a tensor moves through memory. */
struct Axes {
    Axis axis[ATTUNE_MAX_RANK];
    int count = 0;
};

Axes moving_axes(const attune_tensor &tensor) {
    const auto size = static_cast<int64_t>(attune_type_size(tensor.type));
    Axes axes;
    for (int32_t i = 0; i < tensor.rank; ++i)
        if (effective_stride(tensor, i) != 0) axes.axis[axes.count++] = {tensor.stride[i] * size, tensor.extent[i] - 1};
    return axes;
}

/** Bytes touched along the axes whose step is below `limit`, relative to the first element. */
Span span_below(const attune_tensor &tensor, int64_t limit) {
    Span span = {0, static_cast<int64_t>(attune_type_size(tensor.type))};
    const Axes axes = moving_axes(tensor);
    for (int i = 0; i < axes.count; ++i) {
        const Axis &axis = axes.axis[i];
        if (std::llabs(axis.step) < limit) (axis.step < 0 ? span.begin : span.end) += axis.step * axis.last;
    }
    return span;
}

Span whole_span(const attune_tensor &tensor) {
    Span span = span_below(tensor, INT64_MAX);
    const auto base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.data));
    return {span.begin + base, span.end + base};
}

int64_t gcd_of_steps(const attune_tensor &tensor, int64_t limit, int64_t gcd) {
    const Axes axes = moving_axes(tensor);
    for (int i = 0; i < axes.count; ++i)
        if (std::llabs(axes.axis[i].step) >= limit) gcd = std::gcd(gcd, axes.axis[i].step);
    return gcd;
}

/** Steps of at least `limit` move both tensors by multiples of their greatest common divisor, so modulo that each touches only the span of
 *  its smaller steps: two arcs of a circle, which are apart or not. */
bool apart_modulo(const attune_tensor &a, const attune_tensor &b, int64_t limit) {
    const int64_t period = gcd_of_steps(a, limit, gcd_of_steps(b, limit, 0));
    const Span arc_a = span_below(a, limit);
    const Span arc_b = span_below(b, limit);
    const int64_t distance = reinterpret_cast<intptr_t>(b.data) - reinterpret_cast<intptr_t>(a.data) + arc_b.begin - arc_a.begin;
    const int64_t gap = (distance % period + period) % period; // from the start of a's arc forward to the start of b's
    return arc_a.end - arc_a.begin <= gap && arc_b.end - arc_b.begin <= period - gap;
}

bool strides_keep_apart(const attune_tensor &a, const attune_tensor &b) {
    for (const attune_tensor *tensor : {&a, &b}) {
        const Axes axes = moving_axes(*tensor);
        for (int i = 0; i < axes.count; ++i)
            if (apart_modulo(a, b, std::llabs(axes.axis[i].step))) return true;
    }
    return false;
}

} // namespace

bool in_address_space(const attune_tensor &tensor) {
    constexpr int64_t limit = int64_t{1} << 62;
    const auto size = static_cast<int64_t>(attune_type_size(tensor.type));
    int64_t reach = size;
    for (int32_t i = 0; i < tensor.rank; ++i) {
        int64_t move = 0;
        if (__builtin_mul_overflow(std::llabs(effective_stride(tensor, i)) * size, tensor.extent[i] - 1, &move)) return false;
        if (__builtin_add_overflow(reach, move, &reach)) return false;
    }
    const auto address = reinterpret_cast<uintptr_t>(tensor.data);
    return reach < limit && address < static_cast<uintptr_t>(limit) && whole_span(tensor).begin >= 0;
}

bool overlaps_itself(const attune_tensor &tensor) {
    Axes axes = moving_axes(tensor);
    std::sort(axes.axis, axes.axis + axes.count, [](const Axis &a, const Axis &b) { return std::llabs(a.step) < std::llabs(b.step); });
    auto span = static_cast<int64_t>(attune_type_size(tensor.type));
    for (int i = 0; i < axes.count; ++i) {
        if (std::llabs(axes.axis[i].step) < span) return true;
        span += std::llabs(axes.axis[i].step) * axes.axis[i].last;
    }
    for (int32_t i = 0; i < tensor.rank; ++i)
        if (tensor.extent[i] > 1 && tensor.stride[i] == 0) return true;
    return false;
}

bool may_overlap(const attune_tensor &a, const attune_tensor &b) {
    if (!has_elements(a) || !has_elements(b)) return false;
    const Span span_a = whole_span(a);
    const Span span_b = whole_span(b);
    if (span_a.end <= span_b.begin || span_b.end <= span_a.begin) return false;
    return !strides_keep_apart(a, b);
}

bool same_view(const attune_tensor &a, const attune_tensor &b) {
    if (a.data != b.data || a.type != b.type || a.rank != b.rank) return false;
    for (int32_t i = 0; i < a.rank; ++i)
        if (a.extent[i] != b.extent[i] || effective_stride(a, i) != effective_stride(b, i)) return false;
    return true;
}

Status check_apart(const NamedTensor &output, const NamedTensor &other) {
    ATTUNE_REQUIRE(!other.tensor || !may_overlap(*output.tensor, *other.tensor), "{} overlaps {} in memory; it must be apart from it",
                   output.name, other.name);
    return {};
}

Status check_place(const NamedTensor &output, const NamedTensor &other) {
    ATTUNE_REQUIRE(!other.tensor || same_view(*output.tensor, *other.tensor) || !may_overlap(*output.tensor, *other.tensor),
                   "{} overlaps {} in memory; it must be apart from it, or {} itself", output.name, other.name, other.name);
    return {};
}

Status check_apart(const NamedTensors &outputs, const NamedTensors &inputs) {
    for (const NamedTensor &output : outputs) {
        for (const NamedTensor &input : inputs)
            ATTUNE_TRY(check_apart(output, input));
        for (const NamedTensor &other : outputs)
            if (&other < &output) ATTUNE_TRY(check_apart(output, other));
    }
    return {};
}

} // namespace attune::runtime
