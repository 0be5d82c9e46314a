// Softmax for x86: a few rows at a time, in vectors along them, or a few vectors of columns at a time.
#include <algorithm>

#include "dsl/axes.h"
#include "schedules/lowered/pipeline_rows.h"
#include "schedules/lowered/stage_loops.h"
#include "schedules/schedules.h"
#include "schedules/x86/loops.h"
#include "schedules/x86/multiply_add.h"
#include "schedules/x86/sixteen_bits.h"
#include "schedules/x86/stream_stores.h"

namespace attune::schedules::x86 {

using Halide::cast;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

const Var ragged_row("ragged_row");

Halide::Expr is_whole_lines(const Halide::Expr &extent) {
    constexpr int elements = 32; // a line of 16 bits, and two of f32
    return extent % elements == 0;
}

// What goes past the caches is pipelined: a row, or a step of one, in turn. On Emerald Rapids it takes 0.8 to 0.9 of the time. Of 256
// numbers by rows f32 takes 1.01 of that by steps, bf16 0.92; of 320 1.06.
bool can_pipeline(dsl::SoftmaxKind kind, const Machine &machine) { return kind != dsl::SoftmaxKind::log_sum_exp && may_pipeline(machine); }
constexpr int most_by_rows = 256;
Halide::Expr by_rows(const Machine &machine, const Halide::Expr &extent) {
    return extent >= least_bytes_pipelined / machine.elements.bytes() && extent <= most_by_rows;
}
Halide::Expr by_steps(const Machine &machine, const Halide::Expr &extent) {
    return extent > most_by_rows && may_go_by_steps(machine, machine.elements, extent);
}

// Where only some rows gain, on AMD's CPUs. On Zen 4 rows of f32 take 0.69 to 0.97 of the time pipelined, most from 1500 numbers on, but of
// 64 and 128 1.1 to 1.2, and of 4 and 8 KiB, where the row that is read lies at the same places of its pages as the one that is
// written, 1.0 to 1.3. Of 16 bits they take 0.79 to 1.02; with AVX2 1.05 to 1.15, as arithmetic takes longer than memory.
Halide::Expr gains_on_amd(const Machine &machine, const Halide::Expr &extent) {
    constexpr int least = 256;
    const Halide::Expr bytes = extent * machine.elements.bytes();
    if (machine.elements.bits() == 32) return extent >= least && bytes != bytes_per_page && bytes != 2 * bytes_per_page;
    return machine.avx512 ? extent >= least : Halide::Internal::const_false();
}

Halide::Expr pipelines_rows(const Machine &machine, const Halide::Expr &extent) {
    return pipelines_all_rows() || gains_on_amd(machine, extent);
}

// Rows that go through the stages side by side. In vectors of 16 no more than what lets one begin while another ends, if these are whole
// lines: on Granite Rapids rows of 64 and 128 numbers take 0.81 and 0.84 of the time from memory so, and 0.92 to 0.94 in the caches, but
// groups that end within a line 1.05 to 1.17. (On AMD's CPUs it wasn't measured.)
constexpr int least_rows_together = 4;
Halide::Expr few_rows(const Halide::Expr &extent) {
    constexpr int elements = 512;
    return (max(least_rows_together, elements / max(1, extent)) + least_rows_together - 1) / least_rows_together * least_rows_together;
}
Halide::Expr rows_together(const Machine &machine, const Halide::Expr &extent) {
    const Halide::Expr few = few_rows(extent), most = max(1, most_streamed_together / max(1, extent));
    if (!machine.avx512) return most;
    return select(few < most && is_whole_lines(few * max(1, extent)), few, most);
}

// Which row is asked for while one is weighed: of a pipeline the next one, or group, is read by then, and short rows come fast.
Halide::Expr rows_ahead(const Machine &machine, const Halide::Expr &extent) {
    const Halide::Expr next = rows_together(machine, extent);
    if (!may_pipeline(machine)) return next;
    return select(!pipelines_rows(machine, extent), next, by_rows(machine, extent), 3 * few_rows(extent), by_steps(machine, extent),
                  next + 1, next);
}

// Of all elements; in this form both where it is specialized by and where it is asked for, so that it is known in each branch.
Halide::Expr are_past_caches(const Halide::Expr &extent, const Halide::Expr &rows, const Halide::Type &type) {
    return is_past_caches(Halide::cast<int64_t>(extent) * rows * type.bytes());
}

// Whether the next rows are asked for into the first-level cache. From memory, where few rows that are short go side by side: on Granite
// Rapids rows of 32 to 160 numbers take 0.82 to 0.9 of the time so, of 200 0.93; of 256, four of which are a page, 1.27. From the caches,
// where a group of rows, its weights, the next group and the result fit into it: rows of f32 take 0.88 to 0.97 of the time so, with AVX2,
// too, of bf16 0.94 to 0.99.
Halide::Expr asks_near(const Machine &machine, const dsl::SoftmaxInputs &in) {
    constexpr int longest_from_memory = 200, most_bytes_from_caches = 8192;
    const Halide::Expr &extent = in.extent;
    const Halide::Type type = in.x.types().front();
    const Halide::Expr fit = extent <= most_bytes_from_caches / type.bytes();
    const Halide::Expr rows =
        select(pipelines_rows(machine, extent) && by_rows(machine, extent), few_rows(extent), rows_together(machine, extent));
    const Halide::Expr are_few = extent <= longest_from_memory && rows * extent < most_streamed_together / 2;
    const Halide::Expr past = are_past_caches(extent, in.rows, type);
    // As integers: where a comparison holds, Halide decides the same one, but not its opposite.
    const Halide::Expr from_caches = cast<int>(fit) & (1 - cast<int>(past));
    return machine.avx512 ? (past && are_few) || from_caches != 0 : from_caches != 0;
}

// Four vectors' operations in turns, as a vector that is wider than a register: an exponential is a chain of operations, and of the stores
// between them LLVM keeps the order.
int wide_lanes(int lanes) { return 4 * lanes; }

// Of the weights of a pipeline: another row is read and written meanwhile. (In f32 it takes 0.95 to 0.98 of the time of wide ones, in bf16,
// which is read in whole registers so, 1.03.)
int pipelined_lanes(const Func &result, int lanes) { return result.type().bits() == 32 ? lanes : wide_lanes(lanes); }

void vectorize_weights(const dsl::Softmax &s, const Machine &machine, const Halide::Expr &pipelined) {
    const int lanes = machine.float_lanes, wide = wide_lanes(lanes);
    Func weight = s.weight;
    const Var i = weight.args()[1];
    if (can_pipeline(s.kind, machine))
        for (const Halide::Expr &rows : {by_steps(machine, s.extent), by_rows(machine, s.extent)})
            weight.specialize(pipelined && rows).vectorize(i, pipelined_lanes(s.result, lanes), TailStrategy::ShiftInwards);
    // Wide vectors in rows that these fill, or of which the last one repeats little.
    weight.specialize(s.extent >= 4 * wide || (s.extent % wide == 0 && s.extent > 0)).vectorize(i, wide, TailStrategy::ShiftInwards);
    weight.specialize(s.extent >= lanes).vectorize(i, lanes, TailStrategy::ShiftInwards);
    weight.vectorize(i, lanes, TailStrategy::GuardWithIf);
}

void specialize(Func result, const dsl::Softmax &softmax) {
    for (const Halide::Expr &condition : softmax.special)
        result.specialize(condition);
}

// A task is some thousand elements, of one row or of many. Rows that fit together go through the stages side by side, so that one begins
// while another ends.
class SoftmaxOfRows {
public:
    SoftmaxOfRows(const dsl::Softmax &softmax, const Machine &machine)
        : s(softmax), machine(machine), stored(stored_lanes(machine, s.result.type())), i(s.result.args()[1]), row(s.result.args()[2]),
          rows(rows_together(machine, s.extent)), streams(!s.in_place && are_past_caches(s.extent, s.rows, s.result.type())),
          pipelined(streams && pipelines_rows(machine, s.extent)) {}

    void apply() {
        for (const Halide::Expr &special : s.special) {
            if (can_pipeline(s.kind, machine)) pipeline_where(special && pipelined);
            if (s.kind != dsl::SoftmaxKind::log_sum_exp) stream_where(special && streams);
        }
        by_tasks(Func(s.result), rows, elements_per_task).vectorize(i, stored, TailStrategy::GuardWithIf);
        stages_of_rows();
        reduce_lanes(s.lane_maximum, s.chunks, s.maxima, s.maximum, row, machine.float_lanes);
        reduce_lanes(s.lane_sum, s.chunks, s.sums, s.sum, row, machine.float_lanes);
        specialize(s.result, s);
    }

private:
    const dsl::Softmax &s;
    const Machine &machine;
    const int stored; // lanes
    const Var i, row, group{"group"}, task{"task"};
    const Halide::Expr rows; // that go side by side
    // In place nothing is read for the sake of the stores, and streaming, which copies once more, gains nothing.
    const Halide::Expr streams, pipelined;

    Func tasks() const { return s.result; }
    Halide::Stage result_where(const Halide::Expr &condition) const { return Func(s.result).specialize(condition); }
    Halide::Expr one_after_the_other() const { return s.result.output_buffer().dim(2).stride() == s.extent; }

    Halide::Stage by_tasks(const Halide::Stage &stage, const Halide::Expr &rows_of_group, const Halide::Expr &elements) const {
        return RowLoops{i, row, group, task, s.extent}.by_tasks(stage, rows_of_group, elements);
    }

    void pipeline_where(const Halide::Expr &condition) const {
        const Halide::Expr elements = elements_per_pipelined_task(s.rows, s.extent);
        stream_steps(by_tasks(result_where(condition && by_steps(machine, s.extent)), 1, elements), i, stored);
        const Halide::Expr short_rows = (one_after_the_other() || begins_lines(s.result, {2})) && by_rows(machine, s.extent);
        for (const bool ragged : {false, true}) {
            if (!ragged && s.kind == dsl::SoftmaxKind::log_softmax) continue; // all go alike: see stream_softmax
            const Halide::Expr are_so = ragged ? Halide::Internal::const_true() : s.extent % machine.float_lanes == 0;
            Halide::Stage stage = by_tasks(result_where(condition && short_rows && are_so), few_rows(s.extent), elements_per_streamed_task);
            if (ragged) stage.rename(row, ragged_row);
            stage.rename(ragged ? ragged_row : row, streamed_whole_row)
                .partition(streamed_whole_row, Halide::Partition::Never)
                .vectorize(i, stored, TailStrategy::GuardWithIf);
        }
    }

    void stream_where(const Halide::Expr &condition) const {
        const Halide::Type type = s.result.type();
        const Halide::Stage long_rows = result_where(condition && s.extent >= most_streamed_together);
        stream_runs(by_tasks(long_rows, rows, elements_per_task), i, stored, type);
        // A group of short rows goes as one. By vectors of 4, or of 8 in 16 bits, their exponentials take longer than memory, and where
        // rows lie apart, each would have to go by itself: then streaming takes longer than it saves.
        if (machine.float_lanes < 8 || (machine.float_lanes == 8 && type.bits() == 16)) return;
        Halide::Stage short_rows = result_where(condition && s.extent < most_streamed_together && one_after_the_other());
        stream_rows(by_tasks(short_rows, rows, elements_per_task), row);
        short_rows.vectorize(i, stored, TailStrategy::GuardWithIf);
    }

    void stages_of_rows() const {
        std::vector<Func> of_rows = {s.maximum, s.sum, s.finish};
        if (s.reduced.defined()) of_rows.push_back(s.reduced);
        for (Func f : of_rows)
            f.compute_at(tasks(), group).hoist_storage(tasks(), task).bound_storage(row, most_streamed_together); // on the stack
        if (s.kind != dsl::SoftmaxKind::softmax) return;
        Func weight = s.weight;
        weight.compute_at(tasks(), group).hoist_storage(tasks(), task);
        vectorize_weights(s, machine, pipelined);
    }
};

} // namespace

// Four vectors of partial results side by side: a maximum or sum takes four cycles, and two can start in each. They are halved at the end
// of a row: added up one after the other, 64 lanes take as long as the exponentials of 128 elements.
dsl::SoftmaxShape softmax_shape(const Machine &machine, const dsl::SoftmaxInputs &in) {
    return {4 * machine.float_lanes, 1, machine.float_lanes, rows_ahead(machine, in.extent), asks_near(machine, in), rounding(machine),
            multiply_add(machine)};
}

void vectorized_softmax(const dsl::Softmax &s, const Machine &machine) { SoftmaxOfRows(s, machine).apply(); }

void stream_softmax(Halide::Pipeline pipeline, const dsl::Softmax &s, const Machine &machine) {
    lower_streams(pipeline, machine, 1, {"", false});
    if (!can_pipeline(s.kind, machine)) return;
    const int chunks = 0; // the update that takes whole ones
    const int chunks_of_step = elements_per_step / wide_lanes(machine.float_lanes);
    const auto loops_over = [](const Func &f, const Var &var) { return loops_of(f, pure_definition) + var.name(); };
    const Var i = s.result.args()[1], row = s.result.args()[2];
    const std::string by_row = loops_over(s.result, row) + "." + row.name() + ".", of_row = streamed_whole_row.name();
    const PipelineRows::Loop sum = {loops_over(s.sum, row), 1};
    PipelineRows::Stage weight = {{loops_of(s.lane_sum, chunks), chunks_of_step}};
    // A logarithm is a long chain of operations: a group's are taken together. Rows of 64 to 250 numbers take 0.75 to 0.95 of the time so.
    PipelineRows::Stage weights = {sum, {loops_over(s.reduced, row), 1}}, ragged_weights = weights;
    if (s.kind == dsl::SoftmaxKind::softmax) {
        weight.insert(weight.begin(), {loops_over(s.weight, i), elements_per_step / pipelined_lanes(s.result, machine.float_lanes)});
        weights = {{loops_over(s.weight, row), 1}, sum, {loops_over(s.finish, row), 1}};
        // The last vector of a ragged row overlaps the one before, and a load of what two stores have written waits until both have left
        // the queue that stores past the caches fill. So such rows are added up when all of a group are weighed: 72 to 100 numbers of f32
        // take 0.79 to 0.94 of the time, but rows of whole vectors 1.03 to 1.05.
        ragged_weights = {weights.front()};
    }
    const PipelineRows::Stage maximum = {{loops_of(s.lane_maximum, chunks), chunks_of_step}}, maxima = {{loops_over(s.maximum, row), 1}};
    const PipelineRows::Stage result = {{loops_over(s.result, i) + "." + streamed_step.name(), 1}}, results = {{by_row + of_row, 1}};
    const PipelineRows::Stage ragged_results = {{by_row + ragged_row.name() + "." + of_row, 1}};
    for (const PipelineRows::Stages &stages :
         {PipelineRows::Stages{maximum, weight, result}, {maxima, weights, results}, {maxima, ragged_weights, ragged_results}})
        pipeline.add_custom_lowering_pass(new PipelineRows(stages));
}

dsl::SoftmaxShape softmax_column_shape(const Machine &machine, const dsl::SoftmaxInputs &) {
    dsl::SoftmaxShape shape;
    shape.sums = Halide::Float(64); // one after the other
    shape.rounding = rounding(machine, machine.float_lanes), shape.multiply_add = multiply_add(machine);
    return shape;
}

// Of each row of a block of columns, 256 bytes are read: whole cache lines that lie together. No tail is shifted inwards: y may be x, and
// what is written mustn't be read again.
void vectorized_softmax_columns(const dsl::Softmax &s, const Machine &machine) {
    const int lanes = machine.float_lanes;
    Func result = s.result, weight = s.weight, finish = s.finish;
    const Var column = result.args()[0], i = result.args()[1], row = result.args()[2], block("block"), task("task");
    result.split(column, block, column, 64, TailStrategy::GuardWithIf)
        .reorder(column, i, block, row)
        .fuse(block, row, task)
        .vectorize(column, lanes)
        .parallel(task);
    if (s.kind == dsl::SoftmaxKind::softmax) weight.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
    for (Func partial : {s.lane_maximum, s.lane_sum}) {
        partial.compute_at(result, task).bound_extent(dsl::axes::lane, 1).vectorize(column, lanes, TailStrategy::GuardWithIf);
        partial.update().reorder(column, dsl::axes::lane, s.chunks.front().steps).vectorize(column, lanes, TailStrategy::GuardWithIf);
    }
    finish.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
    for (Func total : {s.maximum, s.sum}) {
        total.compute_at(result, task).vectorize(column, lanes, TailStrategy::GuardWithIf);
    }
    specialize(result, s);
}

} // namespace attune::schedules::x86
