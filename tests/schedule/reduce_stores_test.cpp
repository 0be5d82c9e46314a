// The pass that takes a Func's elements into a reduction where they are stored.
#include "schedules/lowered/reduce_stores.h"

#include <gtest/gtest.h>

#include "flash.h"
#include "lowered.h"

namespace {

using namespace Halide;

// Some numbers, the largest of them in four lanes, and from both how far each is below it.
struct Distances {
    Param<int> used{"used"};
    Func number{"number"}, lane_maximum{"lane_maximum"}, distance{"distance"};
    Var x{"x"}, lane{"lane"}, tile{"tile"};
    RDom terms;

    /** `weighted`: what the reduction takes depends on where an element is. `hoisted`: its memory is there before the numbers are made. */
    explicit Distances(int vector = 4, bool weighted = false, bool hoisted = true) : terms(0, 3, "terms") {
        terms.where(terms < used);
        number(x, tile) = x * 37 % 11 + 20 * tile;
        lane_maximum(lane, tile) = 0;
        const Expr taken = number(terms * 4 + lane, tile);
        lane_maximum(lane, tile) = max(lane_maximum(lane, tile), weighted ? taken * terms : taken);
        Expr maximum = 0;
        for (int i = 0; i < 4; i++)
            maximum = max(maximum, lane_maximum(i, tile));
        distance(x, tile) = select(x < used * 4, maximum - number(clamp(x, 0, used * 4 - 1), tile), maximum);
        distance.bound(x, 0, 12);
        number.compute_at(distance, tile).vectorize(x, vector, TailStrategy::RoundUp).bound_storage(x, 16);
        lane_maximum.compute_at(distance, tile).bound_extent(lane, 4).vectorize(lane);
        if (hoisted) number.hoist_storage_root(), lane_maximum.hoist_storage_root();
        lane_maximum.update().reorder(lane, terms).vectorize(lane);
    }

    Pipeline pipeline(bool reduced) {
        Pipeline p(distance);
        if (reduced) p.add_custom_lowering_pass(new attune::schedules::ReduceStores(number, lane_maximum, 0));
        return p;
    }
};

// How often a Func is stored to, how many of its stores a reduction's follows at once, and how many loops the reduction's update has.
struct StoresOf : Internal::IRVisitor {
    StoresOf(const Func &stored, const Func &reduction) : name(stored.name()), reduced(reduction.name()), own(reduction.name() + ".s1.") {}
    int stores = 0, reducing = 0, loops = 0;

private:
    using Internal::IRVisitor::visit;
    const std::string name, reduced, own;

    void visit(const Internal::For *op) override {
        loops += Internal::starts_with(op->name, own);
        IRVisitor::visit(op);
    }
    void visit(const Internal::Store *op) override { stores += op->name == name; }
    void visit(const Internal::Block *op) override {
        const auto *first = op->first.as<Internal::Store>(), *second = op->rest.as<Internal::Store>();
        reducing += first && second && first->name == name && second->name == reduced;
        IRVisitor::visit(op);
    }
};

StoresOf stores_of(Distances &distances, Pipeline pipeline) {
    StoresOf found(distances.number, distances.lane_maximum);
    attune::test::visit_lowered(pipeline, {distances.used}, found);
    return found;
}

TEST(ReduceStores, EveryStoreIsTakenInAndNoLoopIsLeft) {
    Distances apart, together;
    const StoresOf before = stores_of(apart, apart.pipeline(false)), after = stores_of(together, together.pipeline(true));
    EXPECT_EQ(before.reducing, 0);
    EXPECT_EQ(before.loops, 1);
    EXPECT_GE(after.stores, 1);
    EXPECT_EQ(after.reducing, after.stores);
    EXPECT_EQ(after.loops, 0);
}

TEST(ReduceStores, ResultsStayTheSame) {
    for (int used = 1; used <= 3; used++) {
        Distances apart, together;
        apart.used.set(used), together.used.set(used);
        const Buffer<int> expected = apart.pipeline(false).realize({12, 2}), got = together.pipeline(true).realize({12, 2});
        for (int tile = 0; tile < 2; tile++)
            for (int x = 0; x < 12; x++)
                EXPECT_EQ(got(x, tile), expected(x, tile)) << used << " steps, element " << x;
    }
}

TEST(ReduceStores, RefusesVectorsOfAnotherLength) {
    Distances wide(8);
    EXPECT_THROW(wide.pipeline(true).compile_to_module({wide.used}, "kernel"), Error);
}

TEST(ReduceStores, RefusesWhatDependsOnTheElementsPlace) {
    Distances weighted(4, true);
    EXPECT_THROW(weighted.pipeline(true).compile_to_module({weighted.used}, "kernel"), Error);
}

TEST(ReduceStores, RefusesAReductionThatHasNoMemoryBefore) {
    Distances late(4, false, false);
    EXPECT_THROW(late.pipeline(true).compile_to_module({late.used}, "kernel"), Error);
}

TEST(ReduceStores, LeavesFuncsThatHaveNoSuchStoresAlone) {
    Distances distances;
    Func other("other");
    other(distances.x, distances.tile) = 1;
    Pipeline p(distances.distance);
    p.add_custom_lowering_pass(new attune::schedules::ReduceStores(other, distances.lane_maximum, 0));
    EXPECT_EQ(stores_of(distances, p).loops, 1);
}

// Values are looked at for Inf and NaN as they are copied, by the vector. Without AVX2 a known width isn't one of whole vectors.
TEST(ReduceStores, FlashLooksAtValuesAsItCopiesThem) {
    using namespace attune::test;
    for (const Target &target : runnable_targets())
        for (int head_dim : {0, 64}) {
            Flash flash(head_dim, std::nullopt, false, target);
            StoresOf values(flash.attention.operands.value, flash.attention.operands.value_lane);
            visit_lowered(flash.jit.pipeline, flash.jit.pipeline.infer_arguments(), values, target);
            const bool in_vectors = head_dim == 0 || flash.machine.fused;
            EXPECT_GE(values.stores, 1) << name_of_target(target) << ", D " << head_dim;
            EXPECT_EQ(values.reducing, in_vectors ? values.stores : 0) << name_of_target(target) << ", D " << head_dim;
            EXPECT_EQ(values.loops == 0, in_vectors) << name_of_target(target) << ", D " << head_dim;
        }
}

} // namespace
