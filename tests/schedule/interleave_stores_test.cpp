// The pass that makes one store of two whose elements take turns.
#include "schedules/lowered/interleave_stores.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "dsl/words.h"
#include "lowered.h"
#include "targets.h"

namespace attune::test::interleave_stores_test {
namespace {

using namespace Halide;
using attune::schedules::InterleaveStores;

// Sums and differences of neighbours, beside each other: pairs of some numbers, in vectors of which the last leaves out what the one before
// has stored.
struct Neighbours {
    Param<int> pairs{"pairs"};
    ImageParam given{Float(32), 1, "given"};
    Func made{"made"}, out{"out"};
    Var x{"x"}, lane{"lane"}, which{"which"}, vector{"vector"};
    RDom all;
    static constexpr int lanes = 8;

    /** `itself`: the second of a pair is made of the first, too, as it is in the output by then. */
    explicit Neighbours(bool itself = false) : all(0, 2, 0, lanes, 0, (pairs + lanes - 1) / lanes, "all") {
        const Expr first = min(likely(vector * lanes), pairs - lanes) + lane;
        made(lane, which, vector) = given(2 * first) + select(which == 0, 1.0f, -1.0f) * given(2 * first + 1);
        out(x) = undef<float>();
        const Expr stored = min(likely(all.z * lanes), max(pairs, lanes) - lanes) + all.y;
        all.where(likely(stored >= all.z * lanes));
        const Expr value = made(all.y, all.x, all.z);
        out(2 * stored + all.x) = itself ? value + out(2 * stored + 1 - all.x) : value;
        given.dim(0).set_bounds(0, 2 * pairs);
        out.output_buffer().dim(0).set_bounds(0, 2 * pairs);
        out.update().allow_race_conditions().reorder(all.x, all.y, all.z).unroll(all.x).vectorize(all.y);
        made.compute_at(out, all.z).bound(which, 0, 2).bound(lane, 0, lanes).vectorize(lane).unroll(which);
    }
    // Indices as prebuilt kernels have them: Halide joins simpler ones itself.
    static Target target() { return get_host_target().with_feature(Target::LargeBuffers); }
    Pipeline pipeline(bool interleaved) {
        Pipeline p(out);
        if (interleaved) p.add_custom_lowering_pass(new InterleaveStores);
        return p;
    }
};

// Vectors that are stored to the output: side by side, and to every second place; and of the first those that leave out lanes.
struct Stores : Internal::IRVisitor {
    explicit Stores(std::string name) : name(std::move(name)) {}
    int dense = 0, apart = 0, masked = 0;

    static Stores of(Neighbours &n, bool interleaved) {
        Stores found(n.out.name());
        visit_lowered(n.pipeline(interleaved), {n.pairs, n.given}, found, Neighbours::target());
        return found;
    }

private:
    using Internal::IRVisitor::visit;
    const std::string name;

    void visit(const Internal::Store *op) override {
        const auto *ramp = op->name == name ? op->index.as<Internal::Ramp>() : nullptr;
        if (!ramp) return;
        const bool is_dense = Internal::is_const_one(ramp->stride);
        (is_dense ? dense : apart)++;
        masked += is_dense && !Internal::is_const_one(op->predicate);
    }
};

TEST(InterleaveStores, MakesOneOfTwo) {
    Neighbours before, after;
    const Stores apart = Stores::of(before, false), joined = Stores::of(after, true);
    EXPECT_GT(apart.apart, 0);
    EXPECT_EQ(apart.dense, 0);
    EXPECT_EQ(joined.apart, 0);
    EXPECT_EQ(joined.dense, apart.apart / 2);
    EXPECT_GT(joined.masked, 0);
    EXPECT_LT(joined.masked, joined.dense);
}

TEST(InterleaveStores, ChangesNoBitAndStoresNothingElse) {
    for (const int pairs : {8, 11, 16, 37}) {
        Buffer<float> given(2 * pairs), expected(2 * pairs), got(2 * pairs);
        given.for_each_element([&](int i) { given(i) = 1.0f / float(3 * i + 1); });
        for (const bool interleaved : {false, true}) {
            Neighbours n;
            n.pairs.set(pairs), n.given.set(given);
            n.pipeline(interleaved).realize(interleaved ? got : expected, Neighbours::target());
        }
        for (int i = 0; i < 2 * pairs; i++)
            EXPECT_EQ(got(i), expected(i)) << pairs << " pairs, element " << i;
    }
}

TEST(InterleaveStores, LeavesWhatMayReadWhatTheFirstStored) {
    Neighbours before(true), after(true);
    EXPECT_EQ(Stores::of(after, true).apart, Stores::of(before, false).apart);
}

// Stores to every second place, and vectors put one into the other.
struct CountApart : Internal::IRMutator {
    explicit CountApart(int &count) : count(count) {}

private:
    using Internal::IRMutator::visit;
    int &count;

    Internal::Stmt visit(const Internal::Store *op) override {
        const auto *ramp = op->index.as<Internal::Ramp>();
        count += ramp && !Internal::is_const_one(ramp->stride);
        return IRMutator::visit(op);
    }
    Expr visit(const Internal::Shuffle *op) override {
        count += op->is_interleave();
        return IRMutator::visit(op);
    }
};

// Upper halves that are stored one beside the other go as words, all at once: in either order, with a name for something between the stores
// or without.
class InterleaveUpperHalves : public testing::TestWithParam<int> {}; // lanes
INSTANTIATE_TEST_SUITE_P(, InterleaveUpperHalves, testing::Values(4, 8, 16, 32));

TEST_P(InterleaveUpperHalves, AreWords) {
    namespace dsl = attune::dsl;
    const int lanes = GetParam(), vectors = 3;
    Buffer<uint32_t> words(2, vectors * lanes);
    for (int i = 0; i < vectors * lanes; i++)
        words(0, i) = uint32_t(1000 + i) << 16 | 0xfffeu, words(1, i) = uint32_t(7000 + i) << 16 | uint32_t(i);
    for (bool named : {false, true})
        for (bool reversed : {false, true}) {
            Var which_axis("which_axis"), x("x"), at("at");
            Func word("word"), stored("stored");
            RDom r(0, 2, 0, lanes, 0, vectors);
            word(which_axis, x) = Func(words)(which_axis, x);
            const Expr which = reversed ? 1 - r.x : Expr(r.x), i = r.z * lanes + r.y, taken = word(which, i);
            stored(at) = cast<uint16_t>(0);
            stored(2 * i + which) = dsl::upper_half_of(named ? taken + (taken & Expr(0xffffu)) : taken);
            stored.update().allow_race_conditions().reorder(r.x, r.y, r.z).unroll(r.x).vectorize(r.y);
            word.compute_root();
            Pipeline pipeline(stored);
            int apart = 0;
            pipeline.add_custom_lowering_pass(new InterleaveStores);
            dsl::lower_words(pipeline);
            pipeline.add_custom_lowering_pass(new CountApart(apart));
            const Buffer<uint16_t> got = pipeline.realize({2 * vectors * lanes}, runnable_targets().front());
            EXPECT_EQ(apart, 0) << named << reversed;
            for (int e = 0; e < 2 * vectors * lanes; e++)
                EXPECT_EQ(got(e), (e % 2 == 0 ? 1000 + named : 7000) + e / 2) << e;
        }
}

} // namespace
} // namespace attune::test::interleave_stores_test
