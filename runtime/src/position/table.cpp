#include "runtime/src/position/encoding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

using text::PositionKind;
using text::ScalingKind;

attune_tensor rank4(const float *data, const int64_t (&extents)[4]) {
    return attune_contiguous(const_cast<float *>(data), ATTUNE_F32, 4, extents);
}

/** Without streams' ends: sinusoidal tables have one stream, and no pairs. */
Status run_sinusoidal(const Encoding &e, const attune_kernel &kernel, const attune_tensor &positions, HalideBuffer &table, Call &call) {
    attune_tensor rows = positions;
    rows.rank = 2, rows.extent[1] = positions.extent[2], rows.stride[1] = positions.stride[2];
    HalideBuffer in(rows, {rows.extent[0], rows.extent[1]});
    double base = e.base;
    auto width = static_cast<int32_t>(e.dim);
    void *arguments[5] = {nullptr, in.get(), &base, &width, table.get()};
    return run_kernel(kernel, arguments, call);
}

/** All that a table is made from, but for the numbers of its positions. Compared as bytes: every member has eight, or four twice over. */
struct TableSource {
    const attune_kernel *kernel;
    int64_t kind, dim, width, axes, scaling, streams, items, tokens, channels;
    double base, factor, original, beta_fast, beta_slow, low, high;
    StreamEnds ends;
};
static_assert(sizeof(TableSource) == 17 * 8 + sizeof(StreamEnds), "bytes between members would be compared");

TableSource source_of(const Encoding &e, const attune_kernel &kernel, const attune_tensor &table, int64_t streams) {
    const text::RotaryScaling &s = e.scaling;
    return {&kernel,         static_cast<int64_t>(e.kind),
            e.dim,           e.width,
            e.axes,          static_cast<int64_t>(s.kind),
            streams,         table.extent[0],
            table.extent[1], table.extent[3],
            e.base,          s.factor,
            s.original,      s.beta_fast,
            s.beta_slow,     s.low,
            s.high,          e.kind == PositionKind::rotary ? stream_ends(e) : StreamEnds()};
}

/** In memory that is kept, where there is room for all tokens' rows: if they are there already, nothing is left to do. */
Status fill_table(const Encoding &e, const attune_kernel &kernel, const Positions &p, int64_t first, attune_tensor &table, Call &call) {
    constexpr size_t source_numbers = sizeof(TableSource) / sizeof(int32_t);
    const int64_t extents[3] = {p.own_batch(), p.own_streams(), table.extent[1]}, streams = p.own_streams();
    const int64_t count = extents[0] * extents[1] * extents[2];
    Scratch<int32_t> key(call);
    if (!key.allocate(source_numbers + static_cast<size_t>(count))) return out_of_memory("positions", count * 4);
    TableSource source = source_of(e, kernel, table, streams);
    std::memcpy(key.data(), &source, sizeof(source));
    int32_t *numbers = key.data() + source_numbers;
    write_positions(p, first, table.extent[1], numbers);

    KeptTables &kept = call.kept_tables();
    const size_t key_bytes = (source_numbers + static_cast<size_t>(count)) * sizeof(int32_t);
    void *room = nullptr;
    if (static_cast<size_t>(packed_bytes(table) / table.extent[1] * p.tokens) <= KeptTables::max_bytes_of_sequence) {
        if (void *made = kept.find(key.data(), key_bytes)) {
            table.data = made;
            return {};
        }
        room = kept.make_room(key.data(), key_bytes, static_cast<size_t>(packed_bytes(table)));
    }
    if (room) table.data = room;
    ATTUNE_TRY(run_table_kernel(e, kernel, attune_contiguous(numbers, ATTUNE_I32, 3, extents),
                                attune_contiguous(source.ends.end, ATTUNE_I32, 1, &streams), table, call));
    if (room) kept.finish();
    return {};
}

/** A row of the caller's cosines or sines. A NaN becomes the ordinary one, as kernels expect. */
float *copy_turns(const float *from, int64_t count, float *to) {
    return std::transform(from, from + count, to, [](float x) { return std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x; });
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
            from += numbers.data()[row] * effective_stride(*planes[plane], 0);
            to = e.cosines ? copy_turns(from, channels, to) : std::copy_n(from, channels, to);
        }
    return {};
}

} // namespace

StreamEnds stream_ends(const Encoding &e) {
    StreamEnds ends = {};
    int32_t pairs = 0;
    for (int32_t i = 0; i < e.streams(); ++i)
        ends.end[i] = pairs += e.section_count > 0 ? e.sections[i] : static_cast<int32_t>(e.width / 2 / e.axes);
    return ends;
}

Status run_table_kernel(const Encoding &e, const attune_kernel &kernel, const attune_tensor &positions, const attune_tensor &ends,
                        const attune_tensor &table, Call &call) {
    HalideBuffer out(table, 4);
    if (e.kind == PositionKind::sinusoidal) return run_sinusoidal(e, kernel, positions, out, call);
    HalideBuffer in(positions, {positions.extent[0], positions.extent[1], positions.extent[2]}), end_buffer(ends, 1);
    const text::RotaryScaling &s = e.scaling;
    const bool yarn = s.kind == ScalingKind::yarn;
    double base = e.base, factor = s.factor, original = s.original, low = yarn ? s.beta_slow : s.low, high = yarn ? s.beta_fast : s.high;
    auto width = static_cast<int32_t>(e.width / e.axes), scaling = static_cast<int32_t>(s.kind);
    void *arguments[11] = {nullptr, in.get(), end_buffer.get(), &base, &width, &scaling, &factor, &original, &low, &high, out.get()};
    return run_kernel(kernel, arguments, call);
}

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
        table.stride[1] = stride, table.device = e.learned->device;
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
