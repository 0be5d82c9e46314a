// The linear layer for x86: tiles of sums in registers.
#include <algorithm>

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "schedules/bounds.h"
#include "schedules/schedules.h"
#include "schedules/x86/sixteen_bits.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using dsl::divided_up;
using Halide::Expr;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int panel_columns = dsl::packed_weight::panel_columns;
// Without them a tile's rows would lie 4096 bytes apart, and evict each other from the first-level cache: 9 % slower on Zen 4.
constexpr int terms_between_rows = 16;
constexpr int most_panels = 128; // of a task
const Var tile_task{"tile_task"}, panel_task{"panel_task"}, part_of_panel{"part_of_panel"}, in_part{"in_part"};
const Halide::RVar part_of_group{"part_of_group"}, in_vector{"in_vector"};
const Var group{"group"}, in_group{"in_group"}, sweep{"sweep"};

/** How the loops over tiles and panels are cut. Rows are copied once for a task. */
struct Tasks {
    Expr tiles_per_task;
    Expr panels_per_task;
    int panels_per_sweep; // whose sums are made together, of all blocks of terms
    int columns_per_tile; // of a register tile, at most a panel's
    int panels_per_tile;  // or whole panels
    // Whether weights are read as they lie in memory, a panel from its first term to its last, and so its gate; otherwise a block of terms
    // of all panels, while the rows' block is in cache.
    bool in_order;
};

class LinearSchedules {
public:
    LinearSchedules(const dsl::Linear &linear, const Machine &machine, const Tasks &tasks)
        : l(linear), lanes(machine.float_lanes), rows(linear.blocking.rows_per_tile), tasks(tasks) {}

    void apply() {
        output();
        sums();
        operands();
    }

private:
    const dsl::Linear &l;
    const int lanes, rows;
    const Tasks tasks;

    void one_of_each(Func f, std::initializer_list<Var> axes) const {
        for (const Var &axis : axes)
            f.bound_extent(axis, 1);
    }

    void output() const {
        Func y = l.y, activated = l.activated;
        const Var column = y.args()[0];
        y.split(column, panel, lane, panel_columns, TailStrategy::GuardWithIf)
            .split(row, tile, row, rows, TailStrategy::GuardWithIf)
            .split(panel, panel_task, panel, tasks.panels_per_task, TailStrategy::GuardWithIf)
            .split(tile, tile_task, tile, tasks.tiles_per_task, TailStrategy::GuardWithIf)
            .split(panel, sweep, panel, tasks.panels_per_sweep, TailStrategy::GuardWithIf)
            .reorder(lane, row, panel, tile, sweep, panel_task, tile_task)
            .fuse(panel_task, tile_task, task)
            .parallel(task)
            .vectorize(lane, lanes)
            .unroll(lane);
        one_of_each(activated, {panel, tile});
        y.specialize(l.plain);
        activated.compute_at(y, panel).bound_extent(lane, panel_columns).bound_extent(row, rows);
        activated.vectorize(lane, lanes).unroll(lane);
        for (int i = 0; i < int(l.activations.size()); i++)
            activated.update(i).reorder(lane, l.activations[i].x).vectorize(lane, lanes);
    }

    // Sums of a panel's tiles lie one after the other, as they are read and written; those of a sweep stay in the second-level cache.
    void sums() const {
        Func sum = l.sum, dot = l.dot;
        const Var which = sum.args()[2];
        sum.compute_at(l.y, sweep).reorder_storage({lane, row, tile, which, panel});
        sum.bound_extent(lane, panel_columns).bound_extent(row, rows).vectorize(lane, lanes);
        std::vector<Halide::VarOrRVar> order = {in_part, in_group, row, tile, part_of_panel, which, group, l.blocks.x};
        if (tasks.in_order) std::rotate(order.end() - 3, order.end() - 1, order.end()); // blocks of terms first
        sum.update()
            .split(lane, part_of_panel, in_part, tasks.columns_per_tile)
            .split(panel, group, in_group, tasks.panels_per_tile, TailStrategy::RoundUp)
            .reorder(order)
            .vectorize(in_part, lanes)
            .unroll(in_part)
            .unroll(in_group)
            .unroll(row);
        one_of_each(dot, {which, tile, block});
        dot.compute_at(sum, tile)
            .bound_extent(lane, tasks.columns_per_tile)
            .bound_extent(row, rows)
            .bound_extent(panel, tasks.panels_per_tile);
        dot.vectorize(lane, lanes).unroll(lane).unroll(row).unroll(panel);
        dot.update()
            .reorder(lane, panel, row, l.in_block.x, l.in_block.y)
            .vectorize(lane, lanes)
            .unroll(lane)
            .unroll(row)
            .unroll(panel)
            .unroll(l.in_block.x);
    }

    void operands() const {
        Func operand = l.operand, fed = l.fed, terms = l.terms;
        const Var part = fed.args()[1], word = fed.args()[2], which = fed.args()[3];
        // A row's blocks one after the other: long reads. They are stored apart, as they are multiplied.
        operand.compute_at(l.y, task).reorder_storage(dim, row, tile, block);
        operand.bound_extent(row, rows).bound_storage(dim, dsl::packed_weight::terms_per_block + terms_between_rows);
        operand.update()
            .allow_race_conditions() // each place is written once, which Halide can't tell
            .reorder(l.taken.x, l.taken.y, block, row, tile)
            .split(l.taken.x, part_of_group, in_vector, lanes)
            .vectorize(in_vector)
            .unroll(part_of_group)
            .never_partition(block); // but groups, of which then the last alone is copied term by term
        const int parts = l.parts_of_word();
        one_of_each(fed, {word, which, block});
        fed.compute_at(l.dot, l.in_block.y)
            .bound_extent(lane, tasks.columns_per_tile)
            .bound_extent(part, parts)
            .bound_extent(panel, tasks.panels_per_tile);
        fed.vectorize(lane, lanes).unroll(lane).unroll(part).unroll(panel);
        if (!l.blocking.copies_weights) return;
        one_of_each(terms, {which, panel, block});
        terms.compute_at(l.sum, which)
            .hoist_storage(l.y, task)
            .bound_extent(lane, panel_columns)
            .bound_extent(part, parts)
            .bound_extent(word, l.words_per_block());
        terms.reorder(lane, part, word).vectorize(lane, lanes).unroll(lane).unroll(part);
    }
};

bool many_registers(const Machine &machine) { return machine.vector_registers >= 32; }

dsl::LinearBlocking blocking_of(const Machine &machine, const std::string &schedule, int rows_per_tile) {
    const WeightStreams tuned = tuned_weight_streams(machine, schedule);
    dsl::LinearBlocking blocking;
    blocking.rows_per_tile = rows_per_tile;
    if (machine.bfloat16_pairs) blocking.products = {true, vdpbf16ps};
    blocking.words_ahead = tuned.words_ahead, blocking.nearness = tuned.nearness, blocking.panels_at_once = tuned.panels;
    return blocking;
}

// Few rows: memory is the limit, and reading goes on from the first word of a task to the last.
void stream_weights(const dsl::Linear &l, const Machine &machine, const std::string &schedule, int tiles, int columns_per_tile) {
    const int panels = tuned_weight_streams(machine, schedule).panels;
    const Expr groups = clamp(divided_up(l.inputs.columns_per_task, panels * panel_columns), 1, most_panels / panels);
    LinearSchedules(l, machine, {tiles, groups * panels, most_panels, columns_per_tile, panels, true}).apply();
}

} // namespace

// 24 sums in registers (of 16 registers, 12), two vectors of weights and a broadcast: 14 loads to 24 multiply-adds. Weights of bf16 become
// f32 once for all tiles of a task, where pairs aren't multiplied as they are.
dsl::LinearBlocking tiles_blocking(const Machine &machine) {
    dsl::LinearBlocking blocking = blocking_of(machine, "linear_tiles", many_registers(machine) ? 12 : 6);
    blocking.copies_weights = true;
    return blocking;
}

// No sum changes by the size of tasks. It has constant bounds, without which bounds inference would ask for rows before the first.
void tiles_linear(const dsl::Linear &l, const Machine &machine) {
    const int most_tiles = 64, panels_per_sweep = 4;
    const int panels_per_tile = tuned_weight_streams(machine, "linear_tiles").panels;
    const Expr tiles_per_task = clamp(divided_up(l.inputs.rows_per_task, l.blocking.rows_per_tile), 1, most_tiles);
    const Expr panels_per_task = clamp(divided_up(l.inputs.columns_per_task, panel_columns), panels_per_sweep, most_panels);
    LinearSchedules(l, machine, {tiles_per_task, panels_per_task, panels_per_sweep, 2 * machine.float_lanes, panels_per_tile, false})
        .apply();
}

// On Emerald Rapids four streams of weights keep more of the memory busy than one (measured: 13.3 GB/s with one, 16.6 with four, where
// plain reading does 17.0). On Zen 5 two are 3 % faster than four; on Zen 4 one, that asks into the second-level cache, is 6 to 14 %
// faster than four.
dsl::LinearBlocking row_blocking(const Machine &machine) { return blocking_of(machine, "linear_row", 1); }

void row_linear(const dsl::Linear &l, const Machine &machine) { stream_weights(l, machine, "linear_row", 1, panel_columns); }

dsl::LinearBlocking rows_blocking(const Machine &machine) { return blocking_of(machine, "linear_rows", 4); }

void rows_linear(const dsl::Linear &l, const Machine &machine) { stream_weights(l, machine, "linear_rows", 2, 2 * machine.float_lanes); }

// Two tiles of four rows wait for memory, and then for the multiply-adds: all rows at once do both at a time, where there are registers
// for their sums.
dsl::LinearBlocking eight_rows_blocking(const Machine &machine) {
    return blocking_of(machine, "linear_eight_rows", many_registers(machine) ? 8 : 4);
}

void eight_rows_linear(const dsl::Linear &l, const Machine &machine) {
    stream_weights(l, machine, "linear_eight_rows", many_registers(machine) ? 1 : 2, 2 * machine.float_lanes);
}

} // namespace attune::schedules::x86
