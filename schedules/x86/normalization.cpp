// Norms for x86: in vectors along rows, short ones side by side.
#include "dsl/axes.h"
#include "schedules/lowered/pipeline_rows.h"
#include "schedules/lowered/stage_loops.h"
#include "schedules/schedules.h"
#include "schedules/x86/loops.h"
#include "schedules/x86/sixteen_bits.h"
#include "schedules/x86/stream_stores.h"

namespace attune::schedules::x86 {

using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

// Rows that go through the stages side by side, so that one begins while another ends; of longer ones two or one. From memory more would
// take longer: rows of 256 numbers 25 % with 8 KiB (f32, Zen 5), and of 768 two 9 % (Zen 4).
constexpr int bytes_together = 4096;

// Rows that gain by a pipeline on AMD's CPUs. On Zen 4 those of f32, of so many bytes, take 0.6 to 1.0 of the time, in layer norm 0.8
// to 1.06 (with AVX2 0.8 to 0.9), and longer ones up to 1.5; those of bf16 0.69 to 1.1, and shorter ones up to 1.25 (with AVX2 1.0
// to 1.27).
Halide::Expr gains_on_amd(const Machine &machine, const Halide::Expr &channels) {
    constexpr int least_of_f32 = 512, most_of_f32 = 2560, least_of_16_bits = 1024;
    const Halide::Expr bytes = channels * machine.elements.bytes();
    if (machine.elements.bits() == 32) return bytes >= least_of_f32 && bytes <= most_of_f32;
    return machine.avx512 ? bytes >= least_of_16_bits : Halide::Internal::const_false();
}

} // namespace

dsl::NormShape norm_shape(const Machine &machine) { return {4 * machine.float_lanes, 1, machine.float_lanes, rounding(machine)}; }

void vectorized_norm(const dsl::Norm &n, const Machine &machine) {
    const int lanes = machine.float_lanes, stored = stored_lanes(machine, n.y.type());
    const Var lane = dsl::axes::lane, group("group"), task("task");
    Func y = n.y;
    const Var channel = y.args()[0], row = y.args()[1];
    const Halide::Expr channels = y.output_buffer().dim(0).extent();
    const int together = bytes_together / y.type().bytes();
    const Halide::Expr are_short = channels <= together / 2;
    const Halide::Expr rows = select(are_short, together / max(1, channels), channels <= together && !is_streamed(y), 2, 1);
    const RowLoops loops{channel, row, group, task, channels};
    const auto by_tasks = [&](const Halide::Stage &stage, const Halide::Expr &rows_of_group, const Halide::Expr &elements) {
        return loops.by_tasks(stage, rows_of_group, elements).partition(task, Halide::Partition::Never);
    };
    if (may_pipeline(machine)) {
        // On Granite Rapids it takes 0.63 to 0.95 of the time; with AVX2 0.7 to 0.97, but layer norm of 64 numbers 1.13.
        const int least = (machine.avx512 ? 1 : 2) * least_bytes_pipelined / y.type().bytes();
        const Halide::Expr pipelined =
            (pipelines_all_rows() || gains_on_amd(machine, channels)) && channels >= least && may_go_by_steps(machine, y.type(), channels);
        const Halide::Expr elements = elements_per_pipelined_task(y.output_buffer().dim(1).extent(), channels);
        stream_steps(by_tasks(y.specialize(is_streamed(y) && pipelined), 1, elements), channel, stored);
    }
    by_tasks(y, rows, select(is_streamed(y), elements_per_streamed_task, elements_per_task));
    // Layer norm of short 16-bit rows is arithmetic more than memory. Rows that lie apart go each by itself.
    const bool short_ones = n.kind == dsl::NormKind::rms || y.type().bits() == 32;
    const Halide::Expr go_together = short_ones ? are_short && y.output_buffer().dim(1).stride() == channels : are_short;
    stream_runs(y.specialize(is_streamed(y) && !go_together), channel, stored, y.type());
    if (short_ones) {
        Halide::Stage groups = y.specialize(is_streamed(y));
        stream_rows(groups, row);
        groups.vectorize(channel, stored, TailStrategy::GuardWithIf);
    }
    y.vectorize(channel, stored, TailStrategy::GuardWithIf);
    const auto of_rows = [&](Func f, const Func &by_lane, const std::vector<Func> &halves) {
        f.compute_at(y, group).hoist_storage(y, task).bound_storage(row, together); // on the stack
        reduce_lanes(by_lane, n.chunks, halves, f, row, lanes);
    };
    if (n.kind == dsl::NormKind::layer) of_rows(n.mean, n.lane_sum, n.sums);
    of_rows(n.statistics, n.lane_squares, n.halved_squares);
}

void stream_norm(Halide::Pipeline pipeline, const dsl::Norm &n, const std::string &x, const Machine &machine) {
    const int chunks = 0; // the update that takes whole ones
    const int chunks_of_step = elements_per_step / (4 * machine.float_lanes);
    PipelineRows::Stages stages;
    if (n.kind == dsl::NormKind::layer) stages.push_back({{loops_of(n.lane_sum, chunks), chunks_of_step}});
    stages.push_back({{loops_of(n.lane_squares, chunks), chunks_of_step}});
    stages.push_back({{loops_of(n.y, pure_definition) + n.y.args()[0].name() + "." + streamed_step.name(), 1}});
    const int rows_before = int(stages.size()) - 1;
    // On Granite Rapids RMS norm of bf16 takes 0.92 to 1.0 of the time so. (Of longer rows 1.04, layer norm 0.99 to 1.08, f32 0.95 to 1.1.)
    const int most_bytes_near = n.kind == dsl::NormKind::rms && n.y.type().bits() == 16 ? 4096 : 0;
    lower_streams(pipeline, machine, 0, {x, false, rows_before, most_bytes_near, true});
    if (may_pipeline(machine)) pipeline.add_custom_lowering_pass(new PipelineRows(stages));
}

void vectorized_row_sum(const dsl::RowSum &s, const Machine &machine) {
    Func y = s.y;
    const Var row = y.args()[1], task("task");
    y.split(row, task, row, 8, TailStrategy::GuardWithIf)
        .vectorize(y.args()[0], machine.float_lanes, TailStrategy::GuardWithIf)
        .parallel(task);
}

} // namespace attune::schedules::x86
