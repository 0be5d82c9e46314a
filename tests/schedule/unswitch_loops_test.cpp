// The pass that makes two loops of one with a condition inside.
#include "schedules/unswitch_loops.h"

#include <gtest/gtest.h>

#include "flash.h"

namespace {

using namespace Halide;

// Sums of 16 terms for eight rows, of which the last four are left out where `few` is nonzero.
struct SumsOfRows {
    Param<int> few{"few"};
    Func sum{"sum"};
    Var row{"row"}, tile{"tile"};
    RDom terms{0, 16, "terms"};

    explicit SumsOfRows(bool by_tile = true) {
        terms.where(row < 4 || (by_tile ? tile : Expr(terms)) >= few);
        sum(row, tile) = 0;
        sum(row, tile) += (terms + 1) * (row + tile);
        sum.bound(row, 0, 8).vectorize(row, 4).unroll(row);
        sum.update().reorder(row, terms, tile).vectorize(row, 4).unroll(row);
    }

    Pipeline pipeline(bool unswitched) {
        Pipeline p(sum);
        if (unswitched) p.add_custom_lowering_pass(new attune::schedules::UnswitchLoops(sum, 0));
        return p;
    }
};

// Loops of a name, and conditions inside them.
struct Loops : Internal::IRVisitor {
    explicit Loops(std::string name) : name(std::move(name)) {}
    std::string name;
    int loops = 0, conditions = 0;

    static Loops of(Pipeline pipeline, const std::vector<Argument> &arguments, const std::string &name) {
        Loops found(name);
        const Module module = pipeline.compile_to_module(arguments, "kernel");
        for (const auto &function : module.functions())
            function.body.accept(&found);
        return found;
    }

private:
    using Internal::IRVisitor::visit;
    bool inside = false;

    void visit(const Internal::For *op) override {
        const bool ours = Internal::starts_with(op->name, name), outside = inside;
        loops += ours;
        inside = inside || ours;
        IRVisitor::visit(op);
        inside = outside;
    }
    void visit(const Internal::IfThenElse *op) override {
        conditions += inside;
        IRVisitor::visit(op);
    }
};

TEST(UnswitchLoops, TheConditionStandsBeforeTwoLoops) {
    SumsOfRows plain, split;
    const Loops before = Loops::of(plain.pipeline(false), {plain.few}, plain.sum.name() + ".s1.terms");
    EXPECT_EQ(before.loops, 1);
    EXPECT_EQ(before.conditions, 1);
    const Loops after = Loops::of(split.pipeline(true), {split.few}, split.sum.name() + ".s1.terms");
    EXPECT_EQ(after.loops, 2);
    EXPECT_EQ(after.conditions, 0);
}

TEST(UnswitchLoops, ConditionsThatTheLoopChangesStayInside) {
    SumsOfRows sums(false);
    const Loops loops = Loops::of(sums.pipeline(true), {sums.few}, sums.sum.name() + ".s1.terms");
    EXPECT_EQ(loops.loops, 1);
    EXPECT_EQ(loops.conditions, 1);
}

TEST(UnswitchLoops, ResultsStayTheSame) {
    SumsOfRows sums;
    sums.few.set(2);
    Buffer<int> got = sums.pipeline(true).realize({8, 5});
    for (int tile = 0; tile < 5; tile++)
        for (int row = 0; row < 8; row++)
            EXPECT_EQ(got(row, tile), row < 4 || tile >= 2 ? 136 * (row + tile) : 0) << "row " << row << ", tile " << tile;
}

// A tile with few queries has loops of its own for both products.
TEST(UnswitchLoops, FlashMultipliesNoRowsBeyondFewQueries) {
    attune::test::Flash flash(64);
    const auto &blocking = flash.attention.blocking;
    ASSERT_GT(blocking.rows_per_tile, blocking.few_rows);
    ASSERT_GT(blocking.few_rows, 0);
    for (const auto &func : {flash.attention.scores.dot, flash.attention.partial.output}) {
        const Loops loops = Loops::of(flash.jit.pipeline, flash.jit.pipeline.infer_arguments(), func.name() + ".s1.");
        EXPECT_GE(loops.loops, 2) << func.name();
        EXPECT_EQ(loops.conditions, 0) << func.name();
    }
}

} // namespace
