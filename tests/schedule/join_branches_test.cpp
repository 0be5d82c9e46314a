// The pass that joins branches on one condition. Run on the CPU: nothing in it is particular to GPUs.
#include "schedules/cuda/join_branches.h"

#include <gtest/gtest.h>

namespace {

using namespace Halide;
using namespace Halide::Internal;

const Expr index = Variable::make(Int(32), "i");

Expr flag(const Expr &at) { return Load::make(Int(32), "flags", at, Buffer<>(), Parameter(), const_true(), ModulusRemainder()) != 0; }

Stmt store(const char *name, const Expr &at) { return Store::make(name, 1, at, Parameter(), const_true(), ModulusRemainder()); }

Stmt branch(const Expr &condition, const Stmt &body) { return IfThenElse::make(condition, body); }

int branches(const Stmt &s) {
    struct Count : IRVisitor {
        int found = 0;
        using IRVisitor::visit;
        void visit(const IfThenElse *op) override { IRVisitor::visit(op), found++; }
    } count;
    attune::schedules::cuda::JoinBranches().mutate(s).accept(&count);
    return count.found;
}

TEST(JoinBranches, NeighboursWithOneCondition) {
    const Stmt part = branch(flag(0), store("sums", 0));
    EXPECT_EQ(branches(Block::make({part, part, part})), 1);
    EXPECT_EQ(branches(Block::make(Block::make(part, part), part)), 1);
}

TEST(JoinBranches, NotOfOtherConditions) {
    const Stmt part = branch(flag(0), store("sums", 0)), other = branch(flag(1), store("sums", 0));
    EXPECT_EQ(branches(Block::make({part, other, part})), 3);
}

TEST(JoinBranches, NotAcrossWhatStandsBetween) {
    const Stmt part = branch(flag(0), store("sums", 0));
    EXPECT_EQ(branches(Block::make({part, store("sums", 1), part})), 2);
}

TEST(JoinBranches, NotWhereTheFirstMayChangeTheCondition) {
    EXPECT_EQ(branches(Block::make(branch(flag(0), store("flags", 1)), branch(flag(0), store("sums", 0)))), 1);
    for (const Expr &at : {Expr(0), index})
        EXPECT_EQ(branches(Block::make(branch(flag(0), store("flags", at)), branch(flag(0), store("sums", 0)))), 2) << at;
    const Stmt call = Evaluate::make(Call::make(Int(32), "anything", {}, Call::Extern));
    EXPECT_EQ(branches(Block::make(branch(flag(0), call), branch(flag(0), call))), 2);
}

TEST(JoinBranches, NotWhereThereIsAnElse) {
    const Stmt part = IfThenElse::make(flag(0), store("sums", 0), store("sums", 1));
    EXPECT_EQ(branches(Block::make(part, part)), 2);
}

TEST(JoinBranches, ConditionsThatAskTheOutsideAreAskedEachTime) {
    const Expr asked = Call::make(Int(32), "anything", {}, Call::Extern) != 0;
    const Stmt part = branch(asked, store("sums", 0));
    EXPECT_EQ(branches(Block::make(part, part)), 2);
}

} // namespace
