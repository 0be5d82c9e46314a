// The pass that moves the conditions of an update out of its loops.
#include "schedules/lowered/lift_conditions.h"

#include <gtest/gtest.h>

namespace {

using namespace Halide;

// sum(y) of squares(x, y) over x, in rows that two conditions allow: limit's is known before the loop over rows, any's is computed in it.
struct Limited {
    Func limit{"limit"}, any{"any"}, squares{"squares"}, sum{"sum"};
    Var x{"x"}, y{"y"};
    RDom r{0, 8, "r"};

    explicit Limited(bool limited = true) {
        limit(y) = y % 3;
        squares(x, y) = x * x + y;
        any(y) = squares(1, y) % 2;
        if (limited) r.where(limit(y) != 0);
        r.where(any(y) > 0);
        sum(y) = 0;
        sum(y) += squares(r, y);
        sum.update().reorder(r, y);
        limit.compute_root();
        squares.compute_at(sum, y);
        any.compute_at(sum, y);
    }

    Pipeline lifted() {
        Pipeline pipeline(sum);
        pipeline.add_custom_lowering_pass(new attune::schedules::LiftConditions(sum, 0));
        return pipeline;
    }
};

// Whether a Func is computed only where a condition holds, in a loop.
bool computed_under_condition(Pipeline pipeline, const Func &func) {
    class Search : public Internal::IRVisitor {
    public:
        explicit Search(const std::string &name) : name(name) {}
        bool found = false;

    private:
        using IRVisitor::visit;
        const std::string name;
        int loops = 0, conditions = 0;
        void visit(const Internal::For *op) override {
            loops++;
            IRVisitor::visit(op);
            loops--;
        }
        void visit(const Internal::IfThenElse *op) override {
            conditions += loops > 0;
            IRVisitor::visit(op);
            conditions -= loops > 0;
        }
        void visit(const Internal::ProducerConsumer *op) override {
            if (op->is_producer && op->name == name && conditions > 0) found = true;
            IRVisitor::visit(op);
        }
    } search(func.name());
    const Module module = pipeline.compile_to_module({}, "limited");
    for (const auto &function : module.functions())
        function.body.accept(&search);
    return search.found;
}

TEST(LiftConditions, HalideItselfComputesWhatNoUpdateNeeds) {
    Limited plain;
    EXPECT_FALSE(computed_under_condition(Pipeline(plain.sum), plain.squares));
}

TEST(LiftConditions, ProducersRunOnlyWhereTheUpdateDoes) {
    Limited l;
    EXPECT_TRUE(computed_under_condition(l.lifted(), l.squares));
}

TEST(LiftConditions, ConditionsThatTheLoopChangesStayInside) {
    Limited l(false);
    EXPECT_FALSE(computed_under_condition(l.lifted(), l.any));
}

TEST(LiftConditions, ResultsStayTheSame) {
    Limited plain, other;
    Pipeline pipeline = other.lifted();
    Buffer<int> expected = plain.sum.realize({10}), got = pipeline.realize({10});
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(expected(i), got(i)) << "row " << i;
    EXPECT_EQ(expected(2), 140 + 16);
    EXPECT_EQ(expected(1), 0) << "any is 0";
    EXPECT_EQ(expected(6), 0) << "limit is 0";
}

} // namespace
