// The pass that runs two loops as one.
#include "schedules/lowered/join_loops.h"

#include <gtest/gtest.h>

#include "flash.h"
#include "lowered.h"

namespace {

using namespace Halide;
using attune::schedules::JoinLoops;
using attune::schedules::pure_definition;

// Squares of some of 12 numbers, their sum in four lanes, and from both the squares' shares of it.
struct Shares {
    Param<int> used{"used"};
    Func square{"square"}, lane_sum{"lane_sum"}, share{"share"};
    Var x{"x"}, lane{"lane"}, tile{"tile"}, outer{"outer"}, inner{"inner"};
    RDom terms, made;
    const int update; // of the squares

    /** `longer`: the sum's loop takes one step more. `hoisted`: its memory is there before the squares are made. `updated`: which an update
     * does. */
    explicit Shares(bool longer = false, bool hoisted = true, bool updated = false)
        : terms(0, 3, "terms"), made(0, 4, 0, 3, "made"), update(updated ? 0 : pure_definition) {
        terms.where(terms < used + (longer ? 1 : 0));
        made.where(made.y < used);
        auto square_of = [&](const Expr &x) { return cast<float>((x + 1) * (x + 1) + tile); };
        square(x, tile) = updated ? undef<float>() : select(x < used * 4, square_of(x), undef<float>());
        if (updated) square(made.y * 4 + made.x, tile) = square_of(made.y * 4 + made.x);
        lane_sum(lane, tile) = 0.0f;
        lane_sum(lane, tile) += square(terms * 4 + lane, tile);
        Expr sum = 0.0f;
        for (int i = 0; i < 4; i++)
            sum += lane_sum(i, tile);
        share(x, tile) = select(x < used * 4, square(x, tile) / sum, sum);
        share.bound(x, 0, 12);
        square.compute_at(share, tile).bound_extent(x, 12).split(x, outer, inner, 4).vectorize(inner);
        if (updated) square.update().reorder(made.x, made.y, tile).allow_race_conditions().vectorize(made.x);
        lane_sum.compute_at(share, tile).bound_extent(lane, 4).vectorize(lane);
        if (hoisted) lane_sum.hoist_storage_root();
        lane_sum.update().reorder(lane, terms).vectorize(lane);
    }

    Pipeline pipeline(bool joined) {
        Pipeline p(share);
        if (joined) p.add_custom_lowering_pass(new JoinLoops(square, update, lane_sum, 0));
        return p;
    }
};

// The outermost loops of a Func, how many of them store to a reduction, and how many the reduction's first update has of its own.
struct LoopsOf : Internal::IRVisitor {
    LoopsOf(const Func &first, const Func &reduction, int update = pure_definition)
        : first(first.name() + ".s" + std::to_string(update + 1) + "."), own(reduction.name() + ".s1."), sum(reduction.name()) {}
    int loops = 0, reducing = 0, of_reduction = 0;

private:
    using Internal::IRVisitor::visit;
    const std::string first, own, sum;
    bool inside = false, stored = false;

    void visit(const Internal::For *op) override {
        const bool begins = !inside && Internal::starts_with(op->name, first);
        of_reduction += Internal::starts_with(op->name, own);
        if (!begins) return IRVisitor::visit(op);
        inside = true, stored = false;
        IRVisitor::visit(op);
        inside = false;
        loops++, reducing += stored;
    }
    void visit(const Internal::Store *op) override { stored = stored || op->name == sum; }
};

LoopsOf loops_of(Shares &shares, Pipeline pipeline) {
    LoopsOf found(shares.square, shares.lane_sum, shares.update);
    attune::test::visit_lowered(pipeline, {shares.used}, found);
    return found;
}

// What makes the squares: their definition, or an update.
class JoinLoopsOf : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, JoinLoopsOf, testing::Bool(),
                         [](const auto &info) { return info.param ? std::string("an_update") : std::string("a_definition"); });

TEST_P(JoinLoopsOf, OneLoopStoresBoth) {
    Shares apart(false, true, GetParam()), together(false, true, GetParam());
    const LoopsOf before = loops_of(apart, apart.pipeline(false)), after = loops_of(together, together.pipeline(true));
    EXPECT_EQ(before.loops, 1);
    EXPECT_EQ(before.reducing, 0);
    EXPECT_EQ(before.of_reduction, 1);
    EXPECT_EQ(after.loops, 1);
    EXPECT_EQ(after.reducing, 1);
    EXPECT_EQ(after.of_reduction, 0);
}

TEST_P(JoinLoopsOf, ChangesNoBitForAnyLength) {
    Shares apart(false, true, GetParam()), together(false, true, GetParam());
    Pipeline plain = apart.pipeline(false), joined = together.pipeline(true);
    for (int used = 0; used <= 3; used++) {
        apart.used.set(used), together.used.set(used);
        const Buffer<float> expected = plain.realize({12, 2}), got = joined.realize({12, 2});
        for (int x = 0; x < 12; x++)
            for (int tile = 0; tile < 2; tile++)
                EXPECT_EQ(got(x, tile), expected(x, tile)) << used << " steps, element " << x;
    }
}

TEST(JoinLoops, RefusesLoopsThatDifferInLength) {
    Shares longer(true);
    Pipeline p = longer.pipeline(true);
    EXPECT_THROW(p.compile_to_module({longer.used}, "kernel"), Error);
}

TEST(JoinLoops, RefusesAReductionThatHasNoMemoryBefore) {
    Shares late(false, false);
    Pipeline p = late.pipeline(true);
    EXPECT_THROW(p.compile_to_module({late.used}, "kernel"), Error);
}

TEST(JoinLoops, LeavesFuncsThatHaveNoSuchLoopAlone) {
    Shares shares;
    Func other("other");
    other(shares.x, shares.tile) = 1.0f;
    Pipeline p(shares.share);
    p.add_custom_lowering_pass(new JoinLoops(other, pure_definition, shares.lane_sum, 0));
    EXPECT_EQ(loops_of(shares, p).of_reduction, 1);
}

// Where a panel is long, its maxima are taken beside its scores, and its sums beside its weights, neither of which is read again for them.
TEST(JoinLoops, FlashTakesMaximaAndSumsOfWhatItJustMade) {
    using namespace attune::test;
    for (const Target &target : runnable_targets()) {
        Flash flash(0, std::nullopt, false, target);
        const attune::dsl::BlockState &state = flash.attention.partial;
        LoopsOf scores(flash.attention.scores.masked, state.lane_maximum), weights(state.weight, state.lane_sum);
        const Module lowered = flash.jit.pipeline.compile_to_module(flash.jit.pipeline.infer_arguments(), "kernel", target);
        for (LoopsOf *loops : {&scores, &weights})
            visit(lowered, *loops);
        const bool long_panel = flash.blocking.keys_per_panel >= 12;
        EXPECT_EQ(scores.reducing, scores.loops) << name_of_target(target);
        EXPECT_EQ(scores.of_reduction, 0) << name_of_target(target);
        EXPECT_EQ(weights.reducing, long_panel ? weights.loops : 0) << name_of_target(target);
        EXPECT_EQ(weights.of_reduction == 0, long_panel) << name_of_target(target);
    }
}

} // namespace
