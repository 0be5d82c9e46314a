#include "runtime/src/mask/interval_table.h"

#include <algorithm>

namespace attune::runtime {

namespace {

/** How many tables of how many rows there are: one of each where nothing tells them apart. */
struct Extents {
    int64_t items;
    int64_t heads;
    int64_t rows;
};

Extents extents_of(const MaskProgram &program, const MaskInput &input) {
    const bool by_blocks = program.depends_on_blocks;
    const bool per_item = (input.key_lengths && (input.lengths_cut || program.depends_on_lengths)) ||
                          (input.offsets && program.depends_on_offset) || (program.depends_on_documents && input.documents->items() > 1) ||
                          (by_blocks && input.blocks->items() > 1);
    const bool per_head = by_blocks && input.blocks->heads() > 1;
    return {per_item ? input.batch : 1, per_head ? input.heads : 1, program.depends_on_row ? input.queries : 1};
}

MaskNumbers numbers_of(const MaskInput &input, int64_t item) {
    MaskNumbers numbers = {input.queries, input.keys, input.keys, input.keys, input.offset, input.params};
    if (input.key_lengths) (input.lengths_cut ? numbers.cut : numbers.length) = read_integer(*input.key_lengths, item);
    if (input.offsets) numbers.offset = read_integer(*input.offsets, item);
    return numbers;
}

/** Room for one evaluation, and the item and head it is for. */
struct Evaluator {
    BoundMask mask;
    Band *bands;
    Interval *stack;

    void begin(const MaskInput &input, int64_t item, int64_t head) {
        const MaskNumbers numbers = numbers_of(input, item);
        bind(mask.program, numbers, bands);
        mask.cut = static_cast<int32_t>(numbers.cut);
        if (mask.program.depends_on_documents) mask.documents = input.documents->sets(item);
        if (mask.program.depends_on_blocks) mask.blocks = input.blocks->sets(item, head);
    }
    size_t row(int64_t index, const Interval *&keys) const { return evaluate(mask, index, stack, keys); }
};

/** What an evaluator works in. */
class EvaluatorMemory {
public:
    explicit EvaluatorMemory(Call &call) : bands_(call), stack_(call) {}

    Status allocate(const MaskProgram &program, const MaskInput &input) {
        const MaskRoom room = measure(program, program.depends_on_documents ? input.documents->largest() : 0,
                                      program.depends_on_blocks ? input.blocks->largest() : 0);
        if (!bands_.allocate(program.band_count) || !stack_.allocate(room.stack_size))
            return out_of_memory("the mask", static_cast<int64_t>(room.stack_size * sizeof(Interval)));
        most_intervals_ = room.most_intervals;
        return {};
    }
    Evaluator evaluator(const MaskProgram &program) { return {{program, bands_.data(), {}, {}, 0}, bands_.data(), stack_.data()}; }
    size_t most_intervals() const { return most_intervals_; }

private:
    Scratch<Band> bands_;
    Scratch<Interval> stack_;
    size_t most_intervals_ = 0;
};

/** Calls visit() for each table, with the evaluator at its item and head. */
template <typename Visit> void for_each_table(Evaluator &evaluator, const MaskInput &input, const Extents &extents, const Visit &visit) {
    for (int64_t item = 0; item < extents.items; ++item)
        for (int64_t head = 0; head < extents.heads; ++head) {
            evaluator.begin(input, item, head);
            visit();
        }
}

/** The most intervals that any row has. */
size_t count_intervals(Evaluator &evaluator, const MaskInput &input, const Extents &extents) {
    size_t most = 1;
    const Interval *keys = nullptr;
    for_each_table(evaluator, input, extents, [&] {
        for (int64_t i = 0; i < extents.rows; ++i)
            most = std::max(most, evaluator.row(i, keys));
    });
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
    const MaskProgram &program = evaluator.mask.program;
    const bool one_band = program.steps.size() == 1 && program.band_count == 1;
    for_each_table(evaluator, input, extents, [&] {
        if (one_band) {
            write_band_rows(evaluator.bands[0], extents.rows, {end, end}, out);
        } else {
            write_rows(evaluator, extents.rows, width, {end, end}, out);
        }
        out += extents.rows * static_cast<int64_t>(width);
    });
}

Status describe(const Extents &extents, size_t width, IntervalTable &table) {
    const int64_t row = 2 * static_cast<int64_t>(width);
    ATTUNE_REQUIRE(extents.heads * extents.rows <= INT32_MAX / row,
                   "the mask has up to {} intervals in each of {} rows of {} heads; their product must be below 2^30", width, extents.rows,
                   extents.heads);
    table.intervals = static_cast<int32_t>(width);
    table.row_stride = extents.rows > 1 ? static_cast<int32_t>(row) : 0;
    table.head_stride = extents.heads > 1 ? static_cast<int32_t>(row * extents.rows) : 0;
    table.batch_stride = extents.items > 1 ? static_cast<int32_t>(row * extents.rows * extents.heads) : 0;
    return {};
}

} // namespace

Status build_interval_table(const MaskProgram &program, const MaskInput &input, Call &call, Scratch<int32_t> &memory,
                            IntervalTable &table) {
    EvaluatorMemory evaluator_memory(call);
    ATTUNE_TRY(evaluator_memory.allocate(program, input));
    Evaluator evaluator = evaluator_memory.evaluator(program);
    const Extents extents = extents_of(program, input);
    const size_t width = evaluator_memory.most_intervals() <= 1 ? 1 : count_intervals(evaluator, input, extents);
    ATTUNE_TRY(describe(extents, width, table));
    const auto size = static_cast<size_t>(extents.items * extents.heads * extents.rows * 2) * width;
    if (!memory.allocate(size)) return out_of_memory("the mask's table of intervals", static_cast<int64_t>(size * sizeof(int32_t)));
    static_assert(sizeof(Interval) == 2 * sizeof(int32_t), "the table is made of intervals");
    write_table(evaluator, input, extents, width, reinterpret_cast<Interval *>(memory.data()));
    table.data = memory.data();
    return {};
}

Status find_first_key(const MaskProgram &program, const MaskInput &input, Call &call, FirstKey &first) {
    EvaluatorMemory memory(call);
    ATTUNE_TRY(memory.allocate(program, input));
    Evaluator evaluator = memory.evaluator(program);
    evaluator.begin(input, 0, 0);
    first = {input.keys, 0};
    const int64_t rows = std::min(extents_of(program, input).rows, input.queries);
    for (int64_t i = 0; i < rows; ++i) {
        const Interval *keys = nullptr;
        if (evaluator.row(i, keys) > 0 && keys->begin < first.key) first = {keys->begin, i};
    }
    return {};
}

} // namespace attune::runtime
