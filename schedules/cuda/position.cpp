// Positional encodings for CUDA: a warp along the channels, a few tokens a block.
#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using namespace dsl::axes;
using Halide::Func;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int tokens_per_thread = 8; // of a table: they share the pair's frequency

// Of rotary embedding, a block's threads: 64 pairs side by side, so that rows of 128 channels are read whole, and not a half of each line
// now and the other in a later sweep, as with 32 (an H200: 1.0 to 1.4 times as fast; of 64 channels of bf16, whose rows are short, 0.9
// times).
constexpr int pair_threads = 64, rotary_rows = 2;
constexpr int heads_per_thread = 8; // they share the cosine and the sine, and all that it takes to find them, and where channels pass

const Var nearby{"nearby"};

} // namespace

dsl::RotaryShape rotary_shape(const Machine &) { return {{{1, {}, false}}, true}; }

void simt_rotary(const dsl::Rotary &r, const Machine &) {
    const dsl::RotaryTurn &t = r.turns.front();
    Func turned = t.turned;
    const Var plane = turned.args()[1];
    const RVar pair_step("pair_step"), pair_thread("pair_thread"), launch("launch"), channel("channel");

    r.turn(0)
        .allow_race_conditions() // each channel is stored once
        .split(t.vector, pair_step, pair_thread, pair_threads, TailStrategy::GuardWithIf)
        .split(token, task, token, rotary_rows, TailStrategy::GuardWithIf)
        .split(head, head, nearby, heads_per_thread, TailStrategy::GuardWithIf)
        .reorder(t.plane, t.lane, nearby, pair_thread, token, task, head, batch, pair_step, t.passes, t.once)
        .fuse(task, head, task)
        .fuse(task, batch, task)
        .unroll(t.plane)
        .unroll(nearby)
        .gpu_blocks(task, pair_step)
        .gpu_threads(pair_thread, token);
    turned.compute_at(r.output, nearby).bound(plane, 0, 2).unroll(plane);

    // The loop over the channels that pass is outermost, and not the device's: where there are none, nothing is launched.
    r.pass()
        .split(r.passed, launch, channel, 2 * pair_threads, TailStrategy::GuardWithIf)
        .split(channel, pair_step, pair_thread, pair_threads)
        .split(token, task, token, rotary_rows, TailStrategy::GuardWithIf)
        .split(head, head, nearby, heads_per_thread, TailStrategy::GuardWithIf)
        .reorder(nearby, pair_thread, token, task, head, batch, pair_step, launch)
        .fuse(task, head, task)
        .fuse(task, batch, task)
        .unroll(nearby)
        .gpu_blocks(task, pair_step)
        .gpu_threads(pair_thread, token);
}

namespace {

// A table of (channel, plane, token, batch), each frequency worked out once a block.
void blocks_of_table(Func table, Func frequencies, const Var &channel) {
    const Var plane = table.args()[1];
    table.split(channel, step, channel, warp_threads, TailStrategy::GuardWithIf)
        .split(token, task, token, block_rows * tokens_per_thread, TailStrategy::GuardWithIf)
        .split(token, nearby, token, block_rows)
        .reorder(plane, nearby, channel, token, task, step, batch)
        .fuse(task, step, task)
        .fuse(task, batch, task)
        .gpu_blocks(task)
        .gpu_threads(channel, token);
    frequencies.compute_at(table, task).gpu_threads(frequencies.args()[0]);
}

} // namespace

void simt_rotary_table(const dsl::RotaryTable &t, const Machine &) {
    Func table = t.table, stream = t.stream, magnitude = t.frequencies.magnitude;
    table.bound(table.args()[1], 0, 2);
    blocks_of_table(table, t.frequencies.turns_per_token, table.args()[0]);
    for (Func f : {t.frequencies.shared, magnitude})
        f.compute_at(table, task);
    stream.compute_at(table, table.args()[0]); // a thread's own: beside another array in shared memory Halide 21 puts it past the end
    table.unroll(table.args()[1]);
}

void simt_sinusoidal(const dsl::Sinusoidal &s, const Machine &) { blocks_of_table(s.table, s.turns_per_token, dim); }

void simt_token_positions(const dsl::TokenPositions &p, const Machine &) {
    Func result = p.result;
    result.split(token, task, token, row_threads, TailStrategy::GuardWithIf).gpu_blocks(task).gpu_threads(token);
}

void simt_add_positions(const dsl::AddPositions &a, const Machine &) { blocks_of_rows(a.output, task); }

} // namespace attune::schedules::cuda
