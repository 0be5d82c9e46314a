// Halide 21 miscompiles some updates of Tuples in silence: a component that reads another's old value only inside the arguments of a
// call gets the new one. What is needed stays right: the component that others read stands last, or is read outside calls.
#include <cmath>

#include <Halide.h>
#include <gtest/gtest.h>

namespace {

using Halide::Buffer;
using Halide::Expr;
using Halide::Func;
using Halide::Tuple;

constexpr int steps = 8;

float input(int i) { return 0.1f * i; }

/** sum f(state before step i), the state after step i being input(i) + 1. */
template <typename F> float expected(F f) {
    float state = 0, sum = 0;
    for (int i = 0; i < steps; i++) {
        sum += f(state);
        state = input(i) + 1;
    }
    return sum;
}

class TupleUpdate : public ::testing::Test {
protected:
    TupleUpdate() {
        for (int i = 0; i < steps; i++)
            in(i) = input(i);
    }

    Buffer<float> in{steps};
    Halide::Var x{"x"};
    Halide::RDom r{0, steps};
    Func f{"f"};
};

TEST_F(TupleUpdate, ComponentReadInsideACallStandsLast) {
    f(x) = Tuple(0.0f, 0.0f);
    const Expr state = f(x)[1];
    f(x) = Tuple(f(x)[0] + Halide::exp(state), in(r) + 1.0f);
    const Halide::Realization result = f.realize({1});
    EXPECT_NEAR(Buffer<float>(result[0])(0), expected([](float s) { return std::exp(s); }), 1e-4);
}

TEST_F(TupleUpdate, ComponentReadOutsideCallsStandsAnywhere) {
    f(x) = Tuple(0.0f, 0.0f);
    const Expr state = f(x)[0];
    f(x) = Tuple(in(r) + 1.0f, f(x)[1] + state * 2.0f);
    const Halide::Realization result = f.realize({1});
    EXPECT_NEAR(Buffer<float>(result[1])(0), expected([](float s) { return s * 2; }), 1e-4);
}

} // namespace
