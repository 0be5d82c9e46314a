// The pass that pipelines what three stages make of rows.
#include "schedules/lowered/pipeline_rows.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lowered.h"
#include "schedules/lowered/stage_loops.h"

namespace attune::test::pipeline_rows_test {
namespace {

using namespace Halide;
using attune::schedules::loops_of;
using attune::schedules::PipelineRows;
using attune::schedules::pure_definition;

// Rows of numbers, divided by their sum, times the sum of the quotients' squares: each stage walks a whole row, and the third reads what
// the second keeps of each number.
struct Shares {
    static constexpr int lanes = 4;
    ImageParam x{Int(32), 2, "x"};
    Func twice{"twice"}, lane_sum{"lane_sum"}, sum{"sum"}, share{"share"}, lane_squares{"lane_squares"}, squares{"squares"}, y{"y"};
    Var i{"i"}, row{"row"}, lane{"lane"}, step{"step"};
    RDom chunks;

    // After its stage's loop, before it, or in the third stage, too; or all that the numbers are multiplied by, which takes two stages; or
    // of what a loop before stores, which the end of the second stage may read, too.
    enum class Sum { follows, begins, comes_again, is_all, of_twice, of_twice_that_comes_again };
    const bool has_squares, has_twice;
    explicit Shares(Sum of_row = Sum::follows)
        : has_squares(of_row != Sum::is_all), has_twice(of_row >= Sum::of_twice), chunks(0, x.dim(0).extent() / lanes, "chunks") {
        const Expr at = chunks * lanes + lane;
        twice(i, row) = x(i, row) * 2;
        lane_sum(lane, row) = 0;
        lane_sum(lane, row) += has_twice ? twice(at, row) : x(at, row);
        const Expr lanes_sum = lane_sum(0, row) + lane_sum(1, row) + lane_sum(2, row) + lane_sum(3, row);
        sum(row) = of_row == Sum::begins ? Expr(0) : lanes_sum;
        if (of_row == Sum::begins) sum(row) += lanes_sum;
        share(i, row) = (x(i, row) * 1000) / sum(row);
        lane_squares(lane, row) = 0;
        lane_squares(lane, row) += share(at, row) * share(at, row);
        const Expr lanes_squares = lane_squares(0, row) + lane_squares(1, row) + lane_squares(2, row) + lane_squares(3, row);
        squares(row) = lanes_squares + (of_row == Sum::of_twice_that_comes_again ? twice(0, row) : Expr(0));
        const Expr of_squares = share(i, row) * squares(row) + (of_row == Sum::comes_again ? sum(row) : Expr(0));
        y(i, row) = has_squares ? of_squares : x(i, row) * sum(row);
        y.split(i, step, i, 2 * lanes, TailStrategy::GuardWithIf).partition(step, Partition::Never);
        sum.compute_at(y, row).hoist_storage_root();
        if (has_twice) twice.compute_at(y, row).hoist_storage_root();
        lane_sum.compute_at(sum, row).update().reorder(lane, chunks);
        if (!has_squares) return;
        share.compute_at(y, row).hoist_storage_root().split(i, step, i, lanes, TailStrategy::GuardWithIf).vectorize(i);
        squares.compute_at(y, row).hoist_storage_root();
        lane_squares.compute_at(squares, row).update().reorder(lane, chunks);
    }

    Pipeline pipeline(bool pipelined) {
        Pipeline p(y);
        const std::string steps = loops_of(share, pure_definition) + "i", results = loops_of(y, pure_definition) + "i.step";
        PipelineRows::Stage sums = {{loops_of(lane_sum, 0), 2}};
        if (has_twice) sums.insert(sums.begin(), {loops_of(twice, pure_definition) + "i", 2 * lanes});
        PipelineRows::Stages stages = {sums, {{results, 1}}};
        if (has_squares) stages.insert(stages.begin() + 1, {{steps, 2}, {loops_of(lane_squares, 0) + chunks.x.name(), 2}});
        if (pipelined) p.add_custom_lowering_pass(new PipelineRows(stages));
        return p;
    }
};

// The loops that both read one buffer and write another, of which no inner one does.
struct Both : Internal::IRVisitor {
    Both(const std::string &input, const std::string &output) : input(input), output(output) {}
    std::vector<std::string> loops;

private:
    using Internal::IRVisitor::visit;
    const std::string input, output;
    bool reads = false, writes = false;

    void visit(const Internal::For *op) override {
        const bool read = std::exchange(reads, false), written = std::exchange(writes, false);
        const std::size_t before = loops.size();
        IRVisitor::visit(op);
        if (reads && writes && loops.size() == before) loops.push_back(op->name);
        reads = reads || read, writes = writes || written;
    }
    void visit(const Internal::Load *op) override {
        reads = reads || op->name == input;
        IRVisitor::visit(op);
    }
    void visit(const Internal::Store *op) override {
        writes = writes || op->name == output;
        IRVisitor::visit(op);
    }
};

Buffer<int> numbers(int width, int rows) {
    Buffer<int> x(width, rows);
    x.for_each_element([&](int i, int row) { x(i, row) = (i * 7 + row * 13) % 31 + 1; });
    return x;
}

TEST(PipelineRows, ChangesNothingForAnyNumberOfRowsAndAnyLength) {
    for (const Shares::Sum sum : {Shares::Sum::follows, Shares::Sum::is_all, Shares::Sum::of_twice}) {
        Shares apart(sum), together(sum);
        Pipeline plain = apart.pipeline(false), pipelined = together.pipeline(true);
        for (int rows : {1, 2, 3, 8})
            for (int width : {4, 8, 12, 16, 20, 44, 64}) {
                const Buffer<int> x = numbers(width, rows);
                apart.x.set(x), together.x.set(x);
                const Buffer<int> expected = plain.realize({width, rows}), got = pipelined.realize({width, rows});
                for (int row = 0; row < rows; row++)
                    for (int i = 0; i < width; i++)
                        ASSERT_EQ(got(i, row), expected(i, row)) << width << " x " << rows << ", at " << i << ", " << row;
            }
    }
}

TEST(PipelineRows, ReadsARowInTheLoopThatWritesAnother) {
    Shares apart, together;
    Both before(apart.x.name(), apart.y.name()), after(together.x.name(), together.y.name());
    attune::test::visit_lowered(apart.pipeline(false), {apart.x}, before);
    attune::test::visit_lowered(together.pipeline(true), {together.x}, after);
    EXPECT_EQ(before.loops, std::vector<std::string>{loops_of(apart.y, pure_definition) + "row.rebased"});
    ASSERT_EQ(after.loops.size(), 1);
    EXPECT_TRUE(Internal::starts_with(after.loops.front(), "joined")) << after.loops.front();
}

TEST(PipelineRows, RefusesToReadAnotherRows) {
    for (const Shares::Sum sum : {Shares::Sum::begins, Shares::Sum::comes_again, Shares::Sum::of_twice_that_comes_again}) {
        Shares wrong(sum);
        Pipeline p = wrong.pipeline(true);
        EXPECT_THROW(p.compile_to_module({wrong.x}, "kernel"), Error);
    }
}

} // namespace
} // namespace attune::test::pipeline_rows_test
