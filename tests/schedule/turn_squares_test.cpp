// The pass that turns squares in registers.
#include "schedules/lowered/turn_squares.h"

#include <utility>

#include <gtest/gtest.h>

#include "lowered.h"

namespace {

using namespace Halide;

// Vectors of x, and of each all y one after the other.
void by_columns(Func f, const Var &x, const Var &y, int lanes) {
    const Var outer("outer"), inner("inner");
    f.split(x, outer, inner, lanes).reorder(inner, y, outer).vectorize(inner);
}

// Rows of `source`, stored whole, as columns: `rows` of them of three vectors.
struct Turned {
    Param<int> rows{"rows"};
    Func source{"source"}, turned{"turned"};
    Var x{"x"}, y{"y"};

    explicit Turned(int lanes, const Type &type = Int(32)) {
        source(x, y) = cast(type, x * 100 + y);
        turned(x, y) = source(y, x) + 7;
        source.compute_root();
        by_columns(turned, x, y, lanes);
        turned.output_buffer().dim(0).set_bounds(0, 3 * lanes);
        turned.output_buffer().dim(1).set_bounds(0, rows);
    }

    Pipeline pipeline(bool by_squares) {
        Pipeline p(turned);
        if (by_squares) p.add_custom_lowering_pass(new attune::schedules::TurnSquares(source));
        return p;
    }
};

// Vectors that are loaded of a Func: of neighbours, and of others.
struct Loads : Internal::IRVisitor {
    explicit Loads(std::string name) : name(std::move(name)) {}
    std::string name;
    int whole = 0, gathered = 0;

    static Loads of(Pipeline pipeline, const std::vector<Argument> &arguments, const std::string &name) {
        Loads found(name);
        attune::test::visit_lowered(pipeline, arguments, found);
        return found;
    }

private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::Load *op) override {
        const auto *ramp = op->index.as<Internal::Ramp>();
        if (op->name == name && ramp) (Internal::is_const_one(ramp->stride) ? whole : gathered)++;
        IRVisitor::visit(op);
    }
};

// Of SSE, AVX2 and AVX-512.
class TurnSquares : public ::testing::TestWithParam<int> {
protected:
    const int lanes = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Lanes, TurnSquares, ::testing::Values(4, 8, 16));

TEST_P(TurnSquares, LoadsWholeRows) {
    Turned plain(lanes), squares(lanes);
    const Loads before = Loads::of(plain.pipeline(false), {plain.rows}, plain.source.name());
    EXPECT_EQ(before.whole, 0);
    EXPECT_EQ(before.gathered, 1);
    const Loads after = Loads::of(squares.pipeline(true), {squares.rows}, squares.source.name());
    EXPECT_EQ(after.whole, lanes);
    EXPECT_EQ(after.gathered, 1) << "for what is left over";
}

// Whole squares, some iterations more, and fewer than a square has.
TEST_P(TurnSquares, ResultsStayTheSame) {
    for (int rows : {2 * lanes, 2 * lanes + 3, lanes - 1, 1}) {
        Turned t(lanes);
        t.rows.set(rows);
        const Buffer<int> got = t.pipeline(true).realize({3 * lanes, rows});
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < 3 * lanes; x++)
                ASSERT_EQ(got(x, y), y * 100 + x + 7) << "row " << y << " of " << rows << ", column " << x;
    }
}

// The shuffles are those of elements of 32 bits, in vectors that hold a power of two of them.
TEST(TurnSquaresOf, OtherElementsStayAsTheyAre) {
    for (auto [lanes, type] : {std::pair(8, Int(16)), {8, Int(64)}, {2, Int(32)}, {12, Int(32)}}) {
        Turned t(lanes, type);
        EXPECT_EQ(Loads::of(t.pipeline(true), {t.rows}, t.source.name()).whole, 0) << lanes << " of " << type;
    }
}

// What is loaded under a condition may lie outside of the memory without it.
TEST(TurnSquaresOf, LoadsUnderConditionsStayAsTheyAre) {
    constexpr int lanes = 8, rows = 21;
    const Var x("x"), y("y"), outer("outer"), inner("inner");
    Func source("source"), picked("picked");
    RDom some(0, rows, "some");
    some.where(some % 3 != 0);
    source(x, y) = x * 100 + y;
    picked(x, y) = 0;
    picked(x, some) = source(some, x);
    source.compute_root();
    picked.update().split(x, outer, inner, lanes).reorder(inner, some, outer).vectorize(inner);
    Pipeline p(picked);
    p.add_custom_lowering_pass(new attune::schedules::TurnSquares(source));
    const Buffer<int> got = p.realize({lanes, rows});
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < lanes; column++)
            ASSERT_EQ(got(column, row), row % 3 != 0 ? row * 100 + column : 0);
    EXPECT_EQ(Loads::of(p, {}, source.name()).whole, 0);
}

// Vectors of which each begins two elements after the one before aren't columns of a square.
TEST(TurnSquaresOf, OtherLoadsStayAsTheyAre) {
    constexpr int lanes = 8;
    const Var x("x"), y("y");
    Func source("source"), picked("picked");
    source(x, y) = x * 100 + y;
    picked(x, y) = source(2 * y, x);
    source.compute_root();
    by_columns(picked, x, y, lanes);
    Pipeline p(picked);
    p.add_custom_lowering_pass(new attune::schedules::TurnSquares(source));
    const Buffer<int> got = p.realize({lanes, lanes});
    for (int y = 0; y < lanes; y++)
        for (int x = 0; x < lanes; x++)
            ASSERT_EQ(got(x, y), 2 * y * 100 + x);
    EXPECT_EQ(Loads::of(p, {}, source.name()).whole, 0);
}

} // namespace
