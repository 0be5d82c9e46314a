// schedules::DecideConditions: what is never run in a branch goes.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedules/lowered/decide_conditions.h"

namespace attune::test::decide_conditions_test {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

const Expr n = Variable::make(Halide::Int(32), "n"), m = Variable::make(Halide::Int(32), "m");

Stmt store(const std::string &to) { return Store::make(to, 1, 0, Halide::Parameter(), const_true(), ModulusRemainder()); }
Expr named(const std::string &name) { return Variable::make(Halide::Bool(), name); }

/** The buffers that what is left of a statement stores to, and how many conditions it has. */
class Left : public IRVisitor {
public:
    std::set<std::string> stored;
    int conditions = 0;

private:
    using IRVisitor::visit;
    void visit(const Store *op) override { stored.insert(op->name); }
    void visit(const IfThenElse *op) override {
        conditions++;
        IRVisitor::visit(op);
    }
};

Left left_of(const Stmt &s) {
    schedules::DecideConditions decide;
    Left left;
    decide.mutate(s).accept(&left);
    return left;
}

TEST(DecideConditions, WhatANameStandsForIsDecidedInBothBranches) {
    const auto both = [](const std::string &branch) {
        return Block::make(IfThenElse::make(named("one"), store(branch + " one")),
                           IfThenElse::make(named("several"), store(branch + " several")));
    };
    const Stmt s =
        LetStmt::make("one", n == 1, LetStmt::make("several", n != 1, IfThenElse::make(named("one"), both("then"), both("else"))));
    const Left left = left_of(s);
    EXPECT_EQ(left.stored, (std::set<std::string>{"then one", "else several"}));
    EXPECT_EQ(left.conditions, 1);
}

TEST(DecideConditions, TheOtherBranchTakesThePlaceOfTheWhole) {
    const Left left = left_of(IfThenElse::make(n == 1, IfThenElse::make(n != 1, store("wrong"), store("right"))));
    EXPECT_EQ(left.stored, std::set<std::string>{"right"});
    EXPECT_EQ(left.conditions, 1);
}

TEST(DecideConditions, WhatIsReadFromMemoryMayChange) {
    const Expr flag = Load::make(Halide::Int(32), "flag", 0, Halide::Buffer<>(), Halide::Parameter(), const_true(), ModulusRemainder());
    const Left left = left_of(IfThenElse::make(flag == 1, Block::make(store("flag"), IfThenElse::make(flag == 1, store("after")))));
    EXPECT_EQ(left.stored, (std::set<std::string>{"flag", "after"}));
    EXPECT_EQ(left.conditions, 2);
}

TEST(DecideConditions, ValuesThatAConditionSelectsAreDecided) {
    const auto chosen = [](const Expr &condition) { return Evaluate::make(Select::make(condition, n, m)); };
    const Stmt s = IfThenElse::make(n == 1, Block::make(chosen(n == 1), chosen(m == 1)), chosen(n == 1));
    struct Selects : IRVisitor {
        std::vector<Expr> evaluated;
        using IRVisitor::visit;
        void visit(const Evaluate *op) override { evaluated.push_back(op->value); }
    } left;
    schedules::DecideConditions decide;
    decide.mutate(s).accept(&left);
    ASSERT_EQ(left.evaluated.size(), 3u);
    EXPECT_TRUE(equal(left.evaluated[0], n));
    EXPECT_TRUE(left.evaluated[1].as<Select>());
    EXPECT_TRUE(equal(left.evaluated[2], m));
}

TEST(DecideConditions, WhatDependsOnADecidedValueIsDecided) {
    const Expr last = Variable::make(Halide::Int(32), "last");
    const auto loop = [&](const std::string &branch) {
        const Stmt some = LetStmt::make("some", last >= 0, IfThenElse::make(named("some"), store(branch)));
        return LetStmt::make("last", Select::make(n == 1, Expr(3), Expr(0)) - 1, some);
    };
    const Left left = left_of(IfThenElse::make(n == 1, loop("then"), loop("else")));
    EXPECT_EQ(left.stored, std::set<std::string>{"then"});
    EXPECT_EQ(left.conditions, 1);
}

TEST(DecideConditions, OtherConditionsStay) {
    const Stmt inner = Block::make(IfThenElse::make(m == 1, store("m")), IfThenElse::make(n == 2, store("n")));
    const Left left = left_of(Block::make(IfThenElse::make(n == 1, inner), IfThenElse::make(n != 1, store("after"))));
    EXPECT_EQ(left.stored, (std::set<std::string>{"m", "n", "after"}));
    EXPECT_EQ(left.conditions, 4);
}

} // namespace
} // namespace attune::test::decide_conditions_test
