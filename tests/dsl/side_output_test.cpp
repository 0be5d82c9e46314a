// Results stored in the loops of another result.
#include <Halide.h>
#include <gtest/gtest.h>

#include "dsl/side_output.h"

namespace attune::dsl::side_output_test {
namespace {

using Halide::Buffer;
using Halide::Expr;
using Halide::Func;
using Halide::undef;

constexpr int width = 13, height = 4, untouched = -7;

/** The output is twice what `kept` holds, whose values some elements of a side output take too. */
class SideOutput : public ::testing::TestWithParam<int> {
protected:
    void declare(const Expr &condition, int number = 0) {
        kept(x, y) = also_stored(x + 100.0f * y, number, condition, {x, y});
        out(x, y) = 2 * kept(x, y);
        first(x, y) = undef<float>(), second(x, y) = undef<int32_t>();
        kept.compute_at(out, y);
        if (GetParam() > 1) kept.vectorize(x, GetParam(), Halide::TailStrategy::RoundUp);
        out.parallel(y);
    }

    void realize(Buffer<float> into, Buffer<int32_t> into_second) {
        Halide::Pipeline pipeline({out, first, second});
        lower_side_outputs(pipeline, {first, second});
        pipeline.realize({result, into, into_second});
        for (int j = 0; j < height; j++)
            for (int i = 0; i < width; i++)
                EXPECT_EQ(result(i, j), 2 * (i + 100.0f * j));
    }

    static constexpr auto filled = [](auto value) {
        Buffer<decltype(value)> buffer(width, height);
        buffer.fill(value);
        return buffer;
    };

    Halide::Var x{"x"}, y{"y"};
    Func kept{"kept"}, out{"out"}, first{"first"}, second{"second"};
    Buffer<float> result{width, height};
};

TEST_P(SideOutput, HoldsTheMarkedValuesWhereTheConditionHolds) {
    declare(x < width && x % 3 != 1);
    Buffer<float> side = filled(float(untouched));
    realize(side, filled(untouched));
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            EXPECT_EQ(side(i, j), i % 3 != 1 ? i + 100.0f * j : untouched) << i << ", " << j;
}

TEST_P(SideOutput, MayHaveAnotherTypeAndAnyStrides) {
    declare(x < width, 1);
    Buffer<int32_t> whole(width, 2, height);
    whole.fill(untouched);
    realize(filled(float(untouched)), whole.sliced(1, 0));
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) {
            EXPECT_EQ(whole(i, 0, j), i + 100 * j);
            EXPECT_EQ(whole(i, 1, j), untouched);
        }
}

INSTANTIATE_TEST_SUITE_P(Lanes, SideOutput, ::testing::Values(1, 8), ::testing::PrintToStringParamName());

TEST(SideOutputMarks, InsideALargerExpressionAreRefused) {
    Halide::Var x;
    Func out, side, kept;
    kept(x) = 1.0f + also_stored(Halide::cast<float>(x), 0, x < 4, {x});
    out(x) = kept(x), side(x) = undef<float>();
    kept.compute_root();
    Halide::Pipeline pipeline({out, side});
    lower_side_outputs(pipeline, {side});
    EXPECT_THROW(pipeline.compile_jit(), Halide::CompileError);
}

} // namespace
} // namespace attune::dsl::side_output_test
