// The pass that makes two loops of one with a condition inside.
#include "schedules/lowered/unswitch_loops.h"

#include <gtest/gtest.h>

#include "dsl/numeric.h"
#include "flash.h"
#include "lowered.h"

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

    static Loops of(const Module &lowered, const std::string &name) {
        Loops found(name);
        attune::test::visit(lowered, found);
        return found;
    }
    static Loops of(Pipeline pipeline, const std::vector<Argument> &arguments, const std::string &name) {
        return of(pipeline.compile_to_module(arguments, "kernel"), name);
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
    void visit(const Internal::Call *op) override {
        conditions += inside && op->is_intrinsic(Internal::Call::if_then_else);
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

// Two conditions on the number of a Func, which nothing stores to in the loop.
TEST(UnswitchLoops, SeveralConditionsThatAreLoadedStandBeforeAllLoops) {
    const Var x("x"), tile("tile");
    Func limits("limits"), sum("sum");
    RDom terms(0, 16, "terms");
    limits(x, tile) = x + tile;
    terms.where((x >= 4 || limits(0, tile) > 1) && (x < 4 || limits(1, tile) > 3));
    sum(x, tile) = 0;
    sum(x, tile) += terms + 1;
    limits.compute_at(sum, tile);
    sum.compute_root().bound(x, 0, 8).vectorize(x, 4).unroll(x);
    sum.update().reorder(x, terms, tile).vectorize(x, 4).unroll(x);
    Pipeline p(sum);
    p.add_custom_lowering_pass(new attune::schedules::UnswitchLoops(sum, 0));
    EXPECT_EQ(Loops::of(p, {}, sum.name() + ".s1.terms").conditions, 0);
    Buffer<int> got = p.realize({8, 5});
    for (int t = 0; t < 5; t++)
        for (int i = 0; i < 8; i++)
            EXPECT_EQ(got(i, t), (i < 4 ? t > 1 : 1 + t > 3) ? 136 : 0) << "row " << i << ", tile " << t;
}

// Conditions of if_then_else(), by what a Func says of the loop outside, through names that are bound inside; no others.
TEST(UnswitchLoops, ConditionsOfValuesThatReadAFunc) {
    const Var x("x"), tile("tile");
    Param<int> other("other");
    Func whole("whole"), sum("sum");
    RDom terms(0, 16, "terms");
    whole(tile) = tile % 2;
    const Expr holds = whole(tile) != 0;
    const Expr term = attune::dsl::branch(holds, terms + x, 3 * terms - x);
    const Expr twice = attune::dsl::branch(other > 0, 2 * term, term);
    sum(x, tile) = 0;
    sum(x, tile) += twice;
    whole.compute_root();
    sum.compute_root().bound(x, 0, 8);
    sum.update().reorder(x, terms, tile);
    Pipeline p(sum);
    p.add_custom_lowering_pass(new attune::schedules::UnswitchLoops(sum, 0, whole));
    EXPECT_EQ(Loops::of(p, {other}, sum.name() + ".s1.terms").loops, 2);
    for (int sign : {1, -1}) {
        other.set(sign);
        Buffer<int> got = p.realize({8, 4});
        for (int t = 0; t < 4; t++)
            for (int i = 0; i < 8; i++)
                EXPECT_EQ(got(i, t), (t % 2 ? 120 + 16 * i : 360 - 16 * i) * (sign > 0 ? 2 : 1)) << "row " << i << ", tile " << t;
    }
}

// A condition that is the same for all lanes of a vector, in the definition of a Func.
TEST(UnswitchLoops, ConditionsOfWholeVectorsInAPureDefinition) {
    const Var x("x"), row("row");
    Param<int> doubled("doubled");
    Func sum("sum");
    sum(x, row) = attune::dsl::branch(doubled != 0, 2 * (x + row), x - row);
    sum.reorder(row, x).bound(row, 0, 8).vectorize(row, 4).unroll(row);
    Pipeline p(sum);
    p.add_custom_lowering_pass(new attune::schedules::UnswitchLoops(sum, attune::schedules::pure_definition));
    const Loops loops = Loops::of(p, {doubled}, sum.name() + ".s0.x");
    EXPECT_EQ(loops.loops, 2);
    EXPECT_EQ(loops.conditions, 0);
    for (int twice : {0, 1}) {
        doubled.set(twice);
        Buffer<int> got = p.realize({5, 8});
        for (int r = 0; r < 8; r++)
            for (int i = 0; i < 5; i++)
                EXPECT_EQ(got(i, r), twice ? 2 * (i + r) : i - r) << i << ", " << r;
    }
}

// Scores that are exponents already, and others, have loops of their own for their weights: lowered for AVX-512, on whatever CPU.
TEST(UnswitchLoops, FlashHasLoopsForScoresThatAreExponents) {
    const Target target("x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake");
    attune::test::Flash flash(64, std::nullopt, false, target);
    ASSERT_TRUE(flash.blocking.scores_as_exponents);
    const Module lowered = flash.jit.pipeline.compile_to_module(flash.jit.pipeline.infer_arguments(), "kernel", target);
    const Loops weights = Loops::of(lowered, flash.attention.partial.weight.name() + ".s0.");
    EXPECT_GE(weights.loops, 2);
    EXPECT_EQ(weights.conditions, 0);
}

// What only some rows of a tile are multiplied with has loops of its own in both products.
TEST(UnswitchLoops, FlashHasLoopsForPartsOfATile) {
    attune::test::Flash flash(64);
    const auto &blocking = flash.attention.blocking;
    ASSERT_GT(blocking.rows_per_tile, blocking.first_rows);
    ASSERT_GT(blocking.first_rows, 0);
    const Module lowered = flash.jit.pipeline.compile_to_module(flash.jit.pipeline.infer_arguments(), "kernel");
    const Loops dot = Loops::of(lowered, flash.attention.scores.dot.name() + ".s1.");
    EXPECT_GE(dot.loops, 3);
    EXPECT_EQ(dot.conditions, 0);
    for (int part = 1; part <= 3; part++) {
        const std::string stage = flash.attention.partial.output.name() + ".s" + std::to_string(part) + ".";
        const Loops output = Loops::of(lowered, stage);
        EXPECT_GE(output.loops, 1) << stage;
        EXPECT_EQ(output.conditions, 0) << stage;
    }
}

} // namespace
