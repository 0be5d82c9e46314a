// What lies further on in a buffer than its axes say.
#include "dsl/displaced.h"
#include "targets.h"

#include <gtest/gtest.h>

namespace attune::test::displaced_test {
namespace {

/** `elements` further on than every `stride`th element. */
Halide::Buffer<float> read(int stride, int elements) {
    Halide::Buffer<float> in(64);
    for (int i = 0; i < 64; i++)
        in(i) = float(i);
    Halide::ImageParam x(Halide::Float(32), 1, "x");
    x.set(in);
    Halide::Var i("i");
    Halide::Func y("y");
    y(i) = dsl::displaced(x(stride * i), elements);
    y.bound(i, 0, 16).vectorize(i, 8);
    Halide::Pipeline pipeline(y);
    dsl::lower_displaced(pipeline);
    return pipeline.realize({16}, runnable_targets().back());
}

TEST(Displaced, LiesFurtherOn) {
    const Halide::Buffer<float> got = read(1, 40);
    for (int i = 0; i < 16; i++)
        EXPECT_EQ(got(i), float(i + 40));
}

/** Halide loads it as two vectors side by side, of which only one would be displaced. */
TEST(Displaced, IsRefusedOfALoadThatStrides) { EXPECT_THROW(read(2, 1), Halide::Error); }

} // namespace
} // namespace attune::test::displaced_test
