// Positional encodings for x86.
#include "dsl/axes.h"
#include "schedules/schedules.h"
#include "schedules/x86/bfloat16.h"
#include "schedules/x86/stream_stores.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int tokens_per_task = 16; // their rows of a table stay in the first-level cache for all heads

const Var task{"task"}, step{"step"}, lane{"lane"};

} // namespace

dsl::RotaryShape rotary_shape(const Machine &machine, int, const Halide::Expr &) { return {stored_lanes(machine), to_bfloat16(machine)}; }

void vectorized_rotary(const dsl::Rotary &r, const Machine &machine) {
    const int lanes = stored_lanes(machine);
    Func output = r.output, turned = r.turned;
    const Var turned_lane = turned.args()[0], plane = turned.args()[1], vector_of_pairs = turned.args()[2];
    // Of a long sequence, which no cache holds, more tokens: the run of each head is then long enough for the memory to keep up.
    const Halide::Expr tokens = clamp(r.tokens / 32, tokens_per_task, 64);
    const RVar channel_step("channel_step"), channel_lane("channel_lane");

    // Both channels of a vector of pairs, one after the other: interleaved, the two stores become one.
    output.update(dsl::Rotary::turn)
        .split(token, task, token, tokens, TailStrategy::GuardWithIf)
        .reorder(r.pairs.x, r.pairs.y, r.pairs.z, token, head, task, batch)
        .allow_race_conditions() // each channel is stored once
        .unroll(r.pairs.x)
        .vectorize(r.pairs.y)
        .fuse(task, batch, task)
        .parallel(task);
    // Rows that are turned whole.
    output.update(dsl::Rotary::turn)
        .specialize(r.fills_vector && r.passed.x.extent() <= 0 && rows_are_streamed(output))
        .rename(token, streamed_row);
    output.update(dsl::Rotary::turn).specialize(r.fills_vector);
    turned.compute_at(output, r.pairs.z)
        .bound(plane, 0, 2)
        .bound(turned_lane, 0, lanes)
        .bound_extent(vector_of_pairs, 1)
        .vectorize(turned_lane)
        .unroll(plane);

    // The channels that pass are outermost: where there are none, no loop runs at all.
    output.update(dsl::Rotary::pass)
        .split(r.passed, channel_step, channel_lane, lanes, TailStrategy::GuardWithIf)
        .reorder(channel_lane, token, head, batch, channel_step)
        .vectorize(channel_lane)
        .fuse(head, batch, task)
        .parallel(task);
}

void vectorized_rotary_table(const dsl::RotaryTable &t, const Machine &machine) {
    Func table = t.table;
    const Var pair = table.args()[0], plane = table.args()[1];
    for (Func f : {t.frequencies.shared, t.frequencies.turns_per_token, t.frequencies.magnitude, t.stream})
        f.compute_root();
    table.bound(plane, 0, 2)
        .split(pair, step, lane, machine.float_lanes, TailStrategy::GuardWithIf)
        .split(token, task, token, tokens_per_task, TailStrategy::GuardWithIf)
        .reorder(lane, plane, step, token, task, batch)
        .vectorize(lane)
        .unroll(plane)
        .fuse(task, batch, task)
        .parallel(task);
    table.specialize(t.streams == 1); // one position a token: no gather
}

void vectorized_sinusoidal(const dsl::Sinusoidal &s, const Machine &machine) {
    Func table = s.table, turns = s.turns_per_token;
    table.vectorize(dim, machine.float_lanes, TailStrategy::GuardWithIf).fuse(token, batch, task).parallel(task);
    turns.compute_root();
}

void vectorized_add_positions(const dsl::AddPositions &a, const Machine &machine) {
    Func output = a.output;
    output.split(token, task, token, tokens_per_task, TailStrategy::GuardWithIf)
        .reorder(dim, token, head, task, batch)
        .vectorize(dim, machine.float_lanes, TailStrategy::GuardWithIf)
        .fuse(task, batch, task)
        .parallel(task);
}

} // namespace attune::schedules::x86
