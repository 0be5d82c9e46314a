// Positional encodings for x86.
#include <algorithm>

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "schedules/schedules.h"
#include "schedules/x86/sixteen_bits.h"
#include "schedules/x86/stream_stores.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using dsl::divided_up;
using Halide::Func;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int tokens_per_task = 16; // their rows of a table stay in the first-level cache for all heads

// Past the caches, heads of so many tokens take turns, a few of them, and their next rows are asked for: a row of the table is read once
// for all of these. All heads have a number of tokens before these heads go on, as those rows of the table are near by then: 128 KiB of
// them at 128 channels and 256 tokens. Long rows, whose halves are read in turn, are faster so on Emerald Rapids, and one head after the
// other on Zen 4; and so are heads that begin within lines, of which a part's rest is written with the head's next.
constexpr int least_tokens_in_turn = 512, least_bytes_alone = 1024;

// On Granite Rapids bf16 takes 0.95 to 0.98 of the time by 512 tokens a task that it takes by 256, and f32 1.0 to 1.03.
int tokens_per_streamed_task(const Halide::Type &type) { return type.bytes() == 4 ? 256 : 512; }

// Shorter vectors are for the few that turn few pairs.
constexpr int least_lanes_streamed = 16;

const Var head_group{"head_group"}, tasks{"tasks"};

// The branches of a stage whose rows go past the caches by parts, where they lie one after the other in x and the output alike.
void stream_parts_of_heads(Halide::Stage turn, const dsl::Rotary &r, const dsl::RotaryTurn &t) {
    const Halide::OutputImageParam &y = r.output.output_buffer();
    const Halide::Expr row = y.dim(0).extent(), heads = y.dim(2).extent();
    const Halide::Expr by_parts = r.same_layout && parts_are_streamed(r.output);
    const Halide::Expr heads_apart = by_parts && y.dim(1).stride() == row, tokens_apart = by_parts && y.dim(2).stride() == row;

    const Halide::Expr together = rows_of_lines(r.output), tokens = clamp(r.tokens, 1, tokens_per_streamed_task(r.output.type()));

    // Heads that lie apart, a token of a few of them in turn.
    const Halide::Expr groups = max(1, divided_up(heads, heads_in_turn()));
    const Halide::Expr tasks_in_turn = divided_up(min(tokens_in_turn(), r.tokens), tokens);
    const Halide::Expr are_short_lines = row < least_bytes_alone / r.output.type().bytes() && begins_lines(r.output, {2, 3});
    Halide::Stage in_turn =
        turn.specialize(heads_apart && (are_short_lines || any_in_turn()) && heads > 1 && r.tokens >= least_tokens_in_turn);
    in_turn.split(token, task, token, tokens, TailStrategy::GuardWithIf)
        .split(token, part, token, together, TailStrategy::GuardWithIf)
        .split(task, tasks, task, tasks_in_turn, TailStrategy::GuardWithIf)
        .split(head, head_group, head, divided_up(heads, groups), TailStrategy::GuardWithIf)
        .reorder(t.plane, t.lane, t.vector, t.passes, token, head, part, task, head_group, tasks, batch)
        .fuse(task, head_group, task)
        .fuse(task, tasks, task)
        .fuse(task, batch, task)
        .parallel(task);
    stream_rows_in_turn(in_turn, token);

    // One after the other, a token of a head, or where a token's heads lie together a head of a token.
    Halide::Stage by_head = turn.specialize(heads_apart && (r.tokens >= least_tokens_in_turn || !begins_lines(r.output, {1, 2, 3})));
    by_head.split(token, task, token, tokens, TailStrategy::GuardWithIf)
        .split(token, part, token, together, TailStrategy::GuardWithIf)
        .reorder(t.plane, t.lane, t.vector, t.passes, token, part, task, head, batch)
        .fuse(task, head, task)
        .fuse(task, batch, task)
        .parallel(task);
    stream_parts(by_head, token, part);
    Halide::Stage by_token = turn.specialize(tokens_apart);
    by_token.split(token, task, token, tokens_per_task, TailStrategy::GuardWithIf)
        .split(head, part, head, together, TailStrategy::GuardWithIf)
        .reorder(t.plane, t.lane, t.vector, t.passes, head, part, token, task, batch)
        .fuse(task, batch, task)
        .parallel(task);
    stream_parts(by_token, head, part);
}

} // namespace

// Pairs that fill no vector are turned by shorter ones: lane by lane a row of few takes four times as long as one of more. Rows of which no
// channel passes have a loop of their own, as to see whether any does costs a row 13 cycles.
dsl::RotaryShape rotary_shape(const Machine &machine) {
    const int most = machine.float_lanes, two_registers = 2 * machine.float_lanes;
    dsl::RotaryShape shape{{{most, rounding(machine, most), false}}};
    // Two registers of bf16 take as many operations to pack as one, but pairs that don't fill them would be turned twice: of 64, 128 and
    // 256 channels rows take 0.92, 0.98 and 0.95 of the time on Emerald Rapids, of 80 and 96 they would take 1.03 and 1.04 to 1.1; where an
    // instruction rounds, on Zen 4, 1.05 and 1.13, and in the caches 1.13 and 1.15 (of 112 channels 0.92).
    if (machine.elements.is_bfloat() && machine.avx512)
        shape.vectors.insert(shape.vectors.begin(), {two_registers, rounding(machine, two_registers), false, true});
    for (int lanes = most; lanes >= std::max(4, machine.float_lanes / 2); lanes /= 2)
        shape.vectors.push_back({lanes, rounding(machine, lanes)});
    shape.vectors.push_back({1, rounding(machine, 1)});
    return shape;
}

void vectorized_rotary(const dsl::Rotary &r, const Machine &) {
    Func output = r.output;
    for (size_t i = 0; i < r.turns.size(); i++) {
        const dsl::RotaryTurn &t = r.turns[i];
        Func turned = t.turned;
        const Var turned_lane = turned.args()[0], plane = turned.args()[1], vector_of_pairs = turned.args()[2];

        // Both channels of a vector of pairs, one after the other: interleaved, the two stores become one. And where vectors of another
        // length are taken, no loop runs at all.
        Halide::Stage turn = r.turn(i);
        turn.allow_race_conditions() // each channel is stored once, or what passes as it is
            .reorder(t.plane, t.lane, t.vector, t.passes, token, head, batch, t.once)
            .unroll(t.plane)
            .vectorize(t.lane)
            .unroll(t.passes);
        const bool streams = t.lanes >= std::min(r.turns.front().lanes, least_lanes_streamed);
        if (streams) stream_parts_of_heads(turn, r, t);

        // Of a long sequence, which no cache holds, more tokens: the run of each head is then long enough for the memory to keep up.
        turn.split(token, task, token, clamp(r.tokens / 32, tokens_per_task, 64), TailStrategy::GuardWithIf)
            .reorder(t.plane, t.lane, t.vector, t.passes, token, head, task, batch)
            .fuse(task, batch, task)
            .parallel(task);
        if (streams) turn.specialize(rows_are_streamed(output)).rename(token, streamed_row);
        turned.compute_at(output, t.vector)
            .bound(plane, 0, 2)
            .bound(turned_lane, 0, t.lanes)
            .bound_extent(vector_of_pairs, 1)
            .vectorize(turned_lane)
            .unroll(plane);
    }
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
