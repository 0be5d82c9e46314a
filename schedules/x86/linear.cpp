// The linear layer for x86: tiles of sums in registers.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int panel_columns = dsl::packed_weight::panel_columns;
const Var tile_task{"tile_task"}, panel_task{"panel_task"}, part_of_panel{"part_of_panel"}, in_part{"in_part"};

/** How the loops over tiles and panels are cut. */
struct Tasks {
    int tiles_per_task;
    int panels_per_task;
    int columns_per_tile; // of a register tile, at most a panel's
    int panels_per_tile;  // or several panels
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
            .reorder(lane, row, panel, tile, panel_task, tile_task)
            .fuse(panel_task, tile_task, task)
            .parallel(task)
            .vectorize(lane, lanes);
        one_of_each(activated, {panel, tile});
        activated.compute_at(y, panel).bound_extent(lane, panel_columns).bound_extent(row, rows).vectorize(lane, lanes);
        for (int i = 0; i < int(l.activations.size()); i++)
            activated.update(i).reorder(lane, l.activations[i].x).vectorize(lane, lanes);
    }

    void sums() const {
        Func sum = l.sum, dot = l.dot;
        const Var which = sum.args()[2];
        sum.compute_at(l.y, task).bound_extent(lane, panel_columns).bound_extent(row, rows).vectorize(lane, lanes);
        sum.update()
            .split(lane, part_of_panel, in_part, tasks.columns_per_tile)
            .reorder({in_part, row, tile, part_of_panel, which, panel, l.blocks.x})
            .vectorize(in_part, lanes)
            .unroll(in_part)
            .unroll(row);
        one_of_each(dot, {which, panel, tile, block});
        dot.compute_at(sum, tile).bound_extent(lane, tasks.columns_per_tile).bound_extent(row, rows);
        dot.vectorize(lane, lanes).unroll(lane).unroll(row);
        dot.update().reorder(lane, row, l.in_block.x, l.in_block.y).vectorize(lane, lanes).unroll(lane).unroll(row).unroll(l.in_block.x);
    }

    void operands() const {
        Func operand = l.operand;
        one_of_each(operand, {block});
        operand.compute_at(l.sum, l.blocks.x).bound_extent(row, rows);
        operand.bound_storage(dim, dsl::packed_weight::terms_per_block).vectorize(dim, lanes, TailStrategy::GuardWithIf);
    }
};

} // namespace

dsl::LinearBlocking tiles_blocking(const Machine &, int, const Halide::Expr &) { return {12, {}}; }

void tiles_linear(const dsl::Linear &linear, const Machine &machine) {
    LinearSchedules(linear, machine, {16, 8, 2 * machine.float_lanes, 1}).apply();
}

dsl::LinearBlocking rows_blocking(const Machine &, int, const Halide::Expr &) { return {4, {}}; }

void rows_linear(const dsl::Linear &linear, const Machine &machine) {
    LinearSchedules(linear, machine, {2, 4, 2 * machine.float_lanes, 1}).apply();
}

} // namespace attune::schedules::x86
