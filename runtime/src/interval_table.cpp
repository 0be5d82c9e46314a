#include "interval_table.h"

#include <algorithm>

namespace attune::runtime {

namespace {

/** How many tables of how many rows there are: one of each where nothing tells them apart. */
struct Extents {
    int64_t items;
    int64_t rows;
};

Extents extents_of(const MaskProgram &program, const MaskInput &input) {
    const bool per_item = input.key_lengths || (input.offsets && program.depends_on_offset);
    return {per_item ? input.batch : 1, program.depends_on_row ? input.queries : 1};
}

MaskNumbers numbers_of(const MaskInput &input, int64_t item) {
    MaskNumbers numbers = {input.queries, input.keys, input.keys, input.offset, input.params};
    if (input.key_lengths) numbers.length = read_integer(*input.key_lengths, item);
    if (input.offsets) numbers.offset = read_integer(*input.offsets, item);
    return numbers;
}

/** Room for one evaluation. */
struct Evaluator {
    const MaskProgram &program;
    Band *bands;
    Interval *stack;
    int32_t length = 0;

    void begin_item(const MaskInput &input, int64_t item) {
        const MaskNumbers numbers = numbers_of(input, item);
        length = static_cast<int32_t>(numbers.length);
        bind(program, numbers, bands);
    }
    size_t row(int64_t index, const Interval *&keys) const { return evaluate(program, bands, length, index, stack, keys); }
};

/** The most intervals that any row has. */
size_t count_intervals(Evaluator &evaluator, const MaskInput &input, const Extents &extents) {
    size_t most = 1;
    const Interval *keys = nullptr;
    for (int64_t item = 0; item < extents.items; ++item) {
        evaluator.begin_item(input, item);
        for (int64_t i = 0; i < extents.rows; ++i)
            most = std::max(most, evaluator.row(i, keys));
    }
    return most;
}

/** One band needs no stack and no second pass: some 6 ns a row, where a formula of two takes 38. */
void write_band_rows(const Band &band, int64_t rows, Interval unused, Interval *out) {
    for (int64_t i = 0; i < rows; ++i) {
        Interval keys;
        out[i] = evaluate_band(band, i, keys) ? keys : unused;
    }
}

void write_rows(const Evaluator &evaluator, int64_t rows, size_t width, Interval unused, Interval *out) {
    for (int64_t i = 0; i < rows; ++i, out += width) {
        const Interval *keys = nullptr;
        const size_t size = evaluator.row(i, keys);
        std::copy(keys, keys + size, out);
        std::fill(out + size, out + width, unused);
    }
}

void write_table(Evaluator &evaluator, const MaskInput &input, const Extents &extents, size_t width, Interval *out) {
    const auto end = static_cast<int32_t>(input.keys);
    for (int64_t item = 0; item < extents.items; ++item, out += extents.rows * static_cast<int64_t>(width)) {
        evaluator.begin_item(input, item);
        if (evaluator.program.steps.size() == 1) {
            write_band_rows(evaluator.bands[0], extents.rows, {end, end}, out);
        } else {
            write_rows(evaluator, extents.rows, width, {end, end}, out);
        }
    }
}

Status describe(const Extents &extents, size_t width, IntervalTable &table) {
    const int64_t row = 2 * static_cast<int64_t>(width);
    ATTUNE_REQUIRE(extents.rows <= INT32_MAX / row,
                   "the mask has up to {} intervals in each of {} rows; rows times intervals must be below 2^30", width, extents.rows);
    table.intervals = static_cast<int32_t>(width);
    table.row_stride = extents.rows > 1 ? static_cast<int32_t>(row) : 0;
    table.batch_stride = extents.items > 1 ? static_cast<int32_t>(row * extents.rows) : 0;
    return {};
}

} // namespace

int64_t read_integer(const attune_tensor &tensor, int64_t index) {
    const int64_t element = index * tensor.stride[0];
    return tensor.type == ATTUNE_I64 ? static_cast<const int64_t *>(tensor.data)[element]
                                     : static_cast<const int32_t *>(tensor.data)[element];
}

Status build_interval_table(const MaskProgram &program, const MaskInput &input, Call &call, Scratch<int32_t> &memory,
                            IntervalTable &table) {
    Scratch<Band> bands(call);
    Scratch<Interval> stack(call);
    if (!bands.allocate(program.band_count) || !stack.allocate(program.stack_size)) return out_of_memory("the mask", 0);
    Evaluator evaluator = {program, bands.data(), stack.data()};
    const Extents extents = extents_of(program, input);
    const size_t width = program.most_intervals == 1 ? 1 : count_intervals(evaluator, input, extents);
    ATTUNE_TRY(describe(extents, width, table));
    const auto size = static_cast<size_t>(extents.items * extents.rows * 2) * width;
    if (!memory.allocate(size)) return out_of_memory("the mask's table of intervals", static_cast<int64_t>(size * sizeof(int32_t)));
    static_assert(sizeof(Interval) == 2 * sizeof(int32_t), "the table is made of intervals");
    write_table(evaluator, input, extents, width, reinterpret_cast<Interval *>(memory.data()));
    table.data = memory.data();
    return {};
}

} // namespace attune::runtime
