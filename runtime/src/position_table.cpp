#include "encoding.h"

#include <algorithm>

#include "halide_buffer.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

using text::PositionKind;
using text::ScalingKind;

attune_tensor rank4(const float *data, const int64_t (&extents)[4]) {
    return attune_contiguous(const_cast<float *>(data), ATTUNE_F32, 4, extents);
}

/** Where each stream's pairs end. */
struct StreamEnds {
    int32_t end[max_position_streams];
};

StreamEnds stream_ends(const Encoding &e) {
    StreamEnds ends = {};
    int32_t pairs = 0;
    for (int32_t i = 0; i < e.streams(); ++i)
        ends.end[i] = pairs += e.section_count > 0 ? e.sections[i] : static_cast<int32_t>(e.width / 2 / e.axes);
    return ends;
}

Status run_rotary_table(const Encoding &e, const attune_kernel &kernel, HalideBuffer &positions, int64_t streams, HalideBuffer &table,
                        Call &call) {
    const StreamEnds ends = stream_ends(e);
    HalideBuffer end_buffer(ends.end, ATTUNE_I32, {{streams, 1}});
    const text::RotaryScaling &s = e.scaling;
    const bool yarn = s.kind == ScalingKind::yarn;
    double base = e.base, factor = s.factor, original = s.original, low = yarn ? s.beta_slow : s.low, high = yarn ? s.beta_fast : s.high;
    auto width = static_cast<int32_t>(e.width / e.axes), scaling = static_cast<int32_t>(s.kind);
    void *arguments[11] = {nullptr, positions.get(), end_buffer.get(), &base, &width, &scaling, &factor, &original,
                           &low,    &high,           table.get()};
    return run_kernel(kernel, arguments, call);
}

Status run_sinusoidal(const Encoding &e, const attune_kernel &kernel, HalideBuffer &positions, HalideBuffer &table, Call &call) {
    double base = e.base;
    auto width = static_cast<int32_t>(e.dim);
    void *arguments[5] = {nullptr, positions.get(), &base, &width, table.get()};
    return run_kernel(kernel, arguments, call);
}

Status fill_table(const Encoding &e, const attune_kernel &kernel, const Positions &p, int64_t first, const attune_tensor &table,
                  Call &call) {
    const int64_t batch = p.own_batch(), streams = p.own_streams(), count = table.extent[1];
    Scratch<int32_t> numbers(call);
    if (!numbers.allocate(static_cast<size_t>(batch * streams * count))) return out_of_memory("positions", batch * streams * count * 4);
    write_positions(p, first, count, numbers.data());
    HalideBuffer out(table, 4);
    if (e.kind == PositionKind::sinusoidal) {
        HalideBuffer in(numbers.data(), ATTUNE_I32, {{batch, count}, {count, 1}});
        return run_sinusoidal(e, kernel, in, out, call);
    }
    HalideBuffer in(numbers.data(), ATTUNE_I32, {{batch, streams * count}, {streams, count}, {count, 1}});
    return run_rotary_table(e, kernel, in, streams, out, call);
}

Status gather_rows(const Encoding &e, const Positions &p, int64_t first, const attune_tensor &table, Call &call) {
    const attune_tensor *const planes[2] = {e.learned ? e.learned : e.cosines, e.sines};
    const int64_t count = table.extent[1], channels = table.extent[3], rows = p.own_batch() * count;
    Scratch<int32_t> numbers(call);
    if (!numbers.allocate(static_cast<size_t>(rows))) return out_of_memory("positions", rows * 4);
    write_positions(p, first, count, numbers.data());
    auto *to = static_cast<float *>(table.data);
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t plane = 0; plane < e.planes(); ++plane) {
            const auto *from = static_cast<const float *>(planes[plane]->data);
            to = std::copy_n(from + numbers.data()[row] * effective_stride(*planes[plane], 0), channels, to);
        }
    return {};
}

} // namespace

bool rows_follow(const Encoding &e, const Positions &p) { return e.kind == PositionKind::learned && !p.given && !p.offsets; }

Status count_table(const Encoding &e, const Positions &p, int64_t tokens, int64_t &elements) {
    elements = 0;
    if (rows_follow(e, p)) return {};
    const int64_t item = tokens * e.planes() * e.channels();
    ATTUNE_TRY(check_count("the table of positions", {p.own_batch(), item}));
    if (p.own_batch() > 1 && item > INT32_MAX)
        return fail(ATTUNE_UNSUPPORTED, "the table of positions has {} elements a batch item; at most {} are supported", item, INT32_MAX);
    elements = p.own_batch() * item;
    return {};
}

Status make_table(const Encoding &e, const attune_kernel *kernel, const Positions &p, int64_t first, int64_t count, float *memory,
                  Call &call, attune_tensor &table) {
    const int64_t extents[4] = {p.own_batch(), count, e.planes(), e.channels()};
    if (rows_follow(e, p)) {
        const int64_t stride = effective_stride(*e.learned, 0);
        table = rank4(static_cast<const float *>(e.learned->data) + (p.offset + first) * stride, extents);
        table.stride[1] = stride;
    } else {
        table = rank4(memory, extents);
        if (has_elements(table))
            ATTUNE_TRY(e.has_rows() ? gather_rows(e, p, first, table, call) : fill_table(e, *kernel, p, first, table, call));
    }
    if (table.extent[0] == 1) table.stride[0] = 0;
    table.extent[0] = p.batch;
    return {};
}

} // namespace attune::runtime
