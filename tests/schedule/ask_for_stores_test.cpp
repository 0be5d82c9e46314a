// The pass that asks for the memory of later stores.
#include "schedules/lowered/ask_for_stores.h"

#include <gtest/gtest.h>

#include "lowered.h"

namespace {

using namespace Halide;

struct Counts : Internal::IRVisitor {
    explicit Counts(std::string output) : output(std::move(output)) {}
    std::string output;
    int stores = 0, asked = 0;

private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::Store *op) override {
        stores += op->name == output;
        IRVisitor::visit(op);
    }
    void visit(const Internal::Call *op) override {
        asked += op->name == "llvm.prefetch.p0";
        IRVisitor::visit(op);
    }
};

TEST(AskForStores, EachVectorOfTheOutputHasOneRequestAndIsWhatItWas) {
    const Var x("x"), y("y");
    Func before("before"), output("output");
    before(x, y) = x * y;
    output(x, y) = before(x, y) + 1;
    before.compute_root().vectorize(x, 8);
    output.vectorize(x, 8);
    Pipeline p(output);
    p.add_custom_lowering_pass(new attune::schedules::AskForStores(output, 1, 4));
    Counts counts(output.name());
    attune::test::visit_lowered(p, {}, counts);
    EXPECT_GE(counts.stores, 1);
    EXPECT_EQ(counts.asked, counts.stores);
    Buffer<int> got = p.realize({16, 5});
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 16; i++)
            EXPECT_EQ(got(i, j), i * j + 1);
}

} // namespace
