// What declarations say of how memory is read: how far on, and what is asked for ahead.
#include <gtest/gtest.h>

#include "dsl/displaced.h"
#include "dsl/in_place.h"
#include "dsl/prefetch.h"
#include "lowered.h"

namespace {

using namespace Halide;
using attune::dsl::displaced;
using attune::dsl::with_prefetch;

struct Reading {
    ImageParam in{Int(32), 2, "in"};
    Var x{"x"}, y{"y"};
    Func read{"read"};

    Reading() { in.dim(0).set_bounds(0, 16); }
    Buffer<int> rows(int count) const {
        Buffer<int> rows(16, count);
        rows.for_each_element([&](int column, int row) { rows(column, row) = 100 * row + column; });
        return rows;
    }
};

TEST(Displaced, ReadsFurtherOn) {
    for (bool vectors : {false, true}) {
        Reading r;
        // The second row from row y, read as the first.
        r.read(r.x, r.y) = 3 * displaced(cast<int64_t>(r.in(r.x, 0)), cast<int64_t>(r.y + 2) * r.in.dim(1).stride());
        if (vectors) r.read.vectorize(r.x, 8);
        Pipeline p(r.read);
        attune::dsl::lower_displaced(p);
        r.in.set(r.rows(6));
        Buffer<int64_t> got = p.realize({16, 4});
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 16; column++)
                EXPECT_EQ(got(column, row), 3 * (100 * (row + 2) + column)) << column << ", " << row;
    }
}

TEST(Displaced, OfNothingLoadedIsAnError) {
    Reading r;
    r.read(r.x, r.y) = displaced(r.x + r.y, 1);
    Pipeline p(r.read);
    attune::dsl::lower_displaced(p);
    EXPECT_THROW(p.compile_to_module({}, "nothing_loaded"), CompileError);
}

// The same loop reads the copy, or the rows that it would be a copy of, from the second on, wherever they begin.
TEST(InPlace, ReadsTheCopyOrWhatItIsOf) {
    for (const bool vectors : {false, true})
        for (const bool in_place : {false, true})
            for (const bool by_element : {false, true}) {
                Reading r;
                Param<bool> lies;
                Func copy("copy"), origin("origin");
                copy(r.x, r.y) = r.in(r.x, r.y + 1) + 1; // so that it shows which one is read
                origin() = select(lies, attune::dsl::address_of(r.in(0, 1)), attune::dsl::address_of(copy(0, 0)));
                r.read(r.x, r.y) =
                    2 * attune::dsl::read_in_place(copy(r.x, r.y), origin(), by_element ? cast<int64_t>(r.y * 16 + r.x) : Expr());
                copy.compute_root().bound_extent(r.x, 16), origin.compute_root();
                if (vectors) r.read.vectorize(r.x, 8);
                Pipeline p(r.read);
                attune::dsl::lower_in_place(p);
                const Buffer<int> all(16 * 6 + 1); // rows that begin at no multiple of a vector's bytes
                Buffer<int> rows(all.data() + 1, 16, 6);
                rows.for_each_element([&](int column, int row) { rows(column, row) = 100 * row + column; });
                r.in.set(rows), lies.set(in_place);
                Buffer<int> got = p.realize({16, 4});
                for (int row = 0; row < 4; row++)
                    for (int column = 0; column < 16; column++)
                        EXPECT_EQ(got(column, row), 2 * (100 * (row + 1) + column + !in_place)) << column << ", " << row;
            }
}

TEST(InPlace, OfNothingLoadedIsAnError) {
    for (const bool address : {false, true}) {
        Reading r;
        const Expr nothing = r.x + r.y, zero(uint64_t(0));
        r.read(r.x, r.y) = address ? attune::dsl::address_of(nothing) : cast<uint64_t>(attune::dsl::read_in_place(nothing, zero));
        Pipeline p(r.read);
        attune::dsl::lower_in_place(p);
        EXPECT_THROW(p.compile_to_module({}, "nothing_loaded"), CompileError);
    }
}

struct Requests : Internal::IRVisitor {
    int requests = 0, into_first_level = 0;

private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::Call *op) override {
        if (op->name == "llvm.prefetch.p0") requests++, into_first_level += Internal::is_const(op->args[2], 3); // LLVM's locality
        IRVisitor::visit(op);
    }
};

// One request for what lies ahead and one for each other place beside it; none where that is known not to be wanted.
TEST(Prefetch, AsksForEachPlaceThatIsWanted) {
    for (bool wanted : {true, false}) {
        Reading r;
        const Expr row = cast<int64_t>(r.in.dim(1).stride());
        r.read(r.x, r.y) =
            with_prefetch(r.in(r.x, r.y), r.in(r.x, r.y + 1), Expr(wanted), attune::dsl::Nearness::second_level, {row, -row, row - row});
        r.read.bound(r.x, 0, 16).vectorize(r.x, 16);
        Pipeline p(r.read);
        attune::dsl::lower_prefetches(p);
        Requests found;
        attune::test::visit_lowered(p, {r.in}, found);
        EXPECT_EQ(found.requests, wanted ? 3 : 0);
        r.in.set(r.rows(5));
        Buffer<int> got = p.realize({16, 4});
        for (int at = 0; at < 4; at++)
            EXPECT_EQ(got(7, at), 100 * at + 7);
    }
}

// How near is known at run time: one request of each kind for a line, of which a branch takes one.
TEST(Prefetch, AsksAsNearAsTheConditionSays) {
    for (const int elements : {16, 64}) { // one line, and four
        Reading r;
        Param<bool> near("near");
        r.read(r.x, r.y) = attune::dsl::with_prefetch_near_where(near, r.in(r.x, r.y), r.in(r.x, r.y + 1));
        r.read.bound(r.x, 0, elements).vectorize(r.x, elements);
        Pipeline p(r.read);
        attune::dsl::lower_prefetches(p);
        Requests found;
        attune::test::visit_lowered(p, {r.in, near}, found);
        EXPECT_EQ(found.requests, 2 * elements / 16);
        EXPECT_EQ(found.into_first_level, elements / 16);
    }
}

// As by with_prefetch(), of an address.
TEST(Prefetch, AsksForAnAddress) {
    for (bool wanted : {true, false}) {
        Reading r;
        r.read(r.x, r.y) = attune::dsl::with_prefetch_at(r.in(r.x, r.y), Expr(uint64_t(4096)), Expr(wanted));
        r.read.bound(r.x, 0, 16).vectorize(r.x, 16);
        Pipeline p(r.read);
        attune::dsl::lower_prefetches(p);
        Requests found;
        attune::test::visit_lowered(p, {r.in}, found);
        EXPECT_EQ(found.requests, wanted ? 1 : 0);
        r.in.set(r.rows(4));
        Buffer<int> got = p.realize({16, 4});
        EXPECT_EQ(got(7, 3), 307);
    }
}

} // namespace
