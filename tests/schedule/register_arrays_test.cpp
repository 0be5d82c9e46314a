// The pass that gives arrays in registers stack memory of their own.
#include "schedules/lowered/register_arrays.h"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>

#include "lowered.h"

namespace {

using namespace Halide;
using attune::schedules::RegisterArrays;

// Sums of 16 terms for eight columns, that of four of them at once, beside a line that is looked up.
struct SumsOfLookups {
    Func line{"line"}, sum{"sum"}, total{"total"};
    Var x{"x"}, y{"y"}, outer{"outer"}, inner{"inner"};
    RDom terms{0, 16, "terms"};

    explicit SumsOfLookups(MemoryType where) {
        line(x, y) = x + y;
        sum(x, y) = 0;
        sum(x, y) += line(terms, y) * (x + 1);
        total(x, y) = sum(x, y);
        total.bound(x, 0, 8).split(x, outer, inner, 4).vectorize(inner).unroll(outer);
        line.compute_at(total, y);
        sum.compute_at(total, y).store_in(where).vectorize(x, 4).unroll(x);
        sum.update().reorder(x, terms).vectorize(x, 4).unroll(x);
    }

    Pipeline pipeline() {
        Pipeline p(total);
        p.add_custom_lowering_pass(new RegisterArrays);
        return p;
    }
};

// The bytes of each allocation, and the lanes of its type.
struct Allocations : Internal::IRVisitor {
    std::map<std::string, std::pair<int, int>> bytes_and_lanes;

private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::Allocate *op) override {
        bytes_and_lanes[op->name] = {op->constant_allocation_size() * op->type.bytes() * op->type.lanes(), op->type.lanes()};
        IRVisitor::visit(op);
    }
};

std::map<std::string, std::pair<int, int>> allocations(SumsOfLookups &sums) {
    Allocations found;
    attune::test::visit_lowered(sums.pipeline(), {}, found);
    return found.bytes_and_lanes;
}

TEST(RegisterArrays, AreVectorsOfTheSameSize) {
    SumsOfLookups sums(MemoryType::Register);
    auto found = allocations(sums);
    EXPECT_EQ(found[sums.sum.name()].first, 8 * 4);
    EXPECT_GT(found[sums.sum.name()].second, 1);
    EXPECT_EQ(found[sums.line.name()].second, 1);
}

TEST(RegisterArrays, OtherArraysStayAsTheyAre) {
    SumsOfLookups sums(MemoryType::Auto);
    auto found = allocations(sums);
    EXPECT_EQ(found[sums.sum.name()], std::make_pair(8 * 4, 1));
}

TEST(RegisterArrays, ResultsStayTheSame) {
    SumsOfLookups sums(MemoryType::Register);
    Buffer<int> got = sums.pipeline().realize({8, 5});
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 8; x++)
            EXPECT_EQ(got(x, y), (120 + 16 * y) * (x + 1)) << "x " << x << ", y " << y;
}

} // namespace
