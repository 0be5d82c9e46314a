// One expression over many floats, in the vectors of a target.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/word_powers.h"
#include "dsl/words.h"
#include "targets.h"

namespace attune::test {

/** A function of a float, compiled for a target; vectors are as wide as so many of the target's registers. */
class Elementwise {
public:
    Elementwise(const Halide::Target &target, const std::function<Halide::Expr(Halide::Expr)> &f, int registers = 1) : target_(target) {
        Halide::Var i("i");
        Halide::Func result("y");
        result(i) = f(input_(i));
        result.vectorize(i, registers * target.natural_vector_size<float>(), Halide::TailStrategy::GuardWithIf);
        result_ = Halide::Pipeline(result);
        dsl::lower_word_powers(result_);
        dsl::lower_words(result_);
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
    Halide::Pipeline result_;
};

/** A test for every target this machine can run. */
class EachTarget : public ::testing::TestWithParam<Halide::Target> {};

inline std::string target_in_test_name(const ::testing::TestParamInfo<Halide::Target> &info) { return name_of_target(info.param); }

} // namespace attune::test
