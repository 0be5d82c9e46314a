// The pass that ends a loop where a block's own steps end. Run on the CPU: nothing in it is particular to GPUs.
#include "schedules/cuda/shorten_steps.h"

#include <gtest/gtest.h>

#include "dsl/warp.h"

namespace {

using namespace Halide;
using attune::schedules::cuda::ShortenSteps;

// total(x) = the sum of the first count(x) of ten numbers, of copies that run one step ahead of their use.
struct Sum {
    ImageParam numbers{Int(32), 1, "numbers"}, counts{Int(32), 1, "counts"};
    Func copy{"copy"}, total{"total"};
    Var x{"x"}, step{"step"};
    RDom steps{0, 10, "steps"};

    explicit Sum(int factor = 1) {
        copy(step) = numbers(min(step, 9));
        total(x) = 0;
        steps.where(attune::dsl::warp::in_steps(steps * factor, counts(x)));
        total(x) += copy(steps) + min(copy(steps + 1), 0); // there are no negative numbers
        total.update().reorder(steps, x);
        copy.store_at(total, x).compute_at(total, steps).fold_storage(step, 2);
    }

    Buffer<int32_t> run() {
        Buffer<int32_t> of(10), ends(4);
        of.for_each_element([&](int i) { of(i) = 1 << i; });
        const int counted[] = {10, 3, 0, 1};
        ends.for_each_element([&](int i) { ends(i) = counted[i]; });
        numbers.set(of), counts.set(ends);
        Pipeline pipeline(total);
        pipeline.add_custom_lowering_pass(new ShortenSteps);
        return pipeline.realize({4}, Target("x86-64-linux"));
    }
};

TEST(ShortenSteps, EndsEachLoopWhereItsOwnStepsEnd) {
    const Buffer<int32_t> total = Sum().run();
    EXPECT_EQ(total(0), 1023);
    EXPECT_EQ(total(1), 7);
    EXPECT_EQ(total(2), 0);
    EXPECT_EQ(total(3), 1);
}

TEST(ShortenSteps, AStepThatIsNotTheLoopsVariableStaysACondition) {
    const Buffer<int32_t> total = Sum(2).run();
    EXPECT_EQ(total(0), 31);
    EXPECT_EQ(total(1), 3);
    EXPECT_EQ(total(2), 0);
    EXPECT_EQ(total(3), 1);
}

} // namespace
