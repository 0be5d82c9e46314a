// One expression over many floats, in the vectors of a target.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "targets.h"

namespace attune::test {

/** A function of a float, compiled for a target; the vector is as wide as the target's registers. */
class Elementwise {
public:
    Elementwise(const Halide::Target &target, const std::function<Halide::Expr(Halide::Expr)> &f) : target_(target) {
        Halide::Var i("i");
        result_(i) = f(input_(i));
        result_.vectorize(i, target.natural_vector_size<float>(), Halide::TailStrategy::GuardWithIf);
        result_.compile_jit(target);
    }

    std::vector<float> operator()(std::vector<float> x) {
        input_.set(Halide::Buffer<float>(x.data(), static_cast<int>(x.size())));
        std::vector<float> y(x.size());
        Halide::Buffer<float> out(y.data(), static_cast<int>(y.size()));
        result_.realize(out, target_);
        return y;
    }

private:
    Halide::Target target_;
    Halide::ImageParam input_{Halide::Float(32), 1, "x"};
    Halide::Func result_{"y"};
};

/** A test for every target this machine can run. */
class EachTarget : public ::testing::TestWithParam<Halide::Target> {};

inline std::string target_in_test_name(const ::testing::TestParamInfo<Halide::Target> &info) { return name_of_target(info.param); }

} // namespace attune::test
