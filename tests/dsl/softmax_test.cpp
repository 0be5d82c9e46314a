// The declarations of softmax, log-softmax and log-sum-exp against float64.
#include "dsl/softmax.h"

#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "bits.h"
#include "compare.h"
#include "jit_attention.h"
#include "random.h"
#include "softmax_oracle.h"

namespace attune::test::softmax_test {
namespace {

struct Form {
    AxisKind kind;
    int lanes, left;
};

/** One form's declaration, compiled. */
struct JitSoftmax {
    explicit JitSoftmax(const Form &form) {
        const auto kind = form.kind == AxisKind::softmax       ? dsl::SoftmaxKind::softmax
                          : form.kind == AxisKind::log_softmax ? dsl::SoftmaxKind::log_softmax
                                                               : dsl::SoftmaxKind::log_sum_exp;
        const dsl::SoftmaxInputs inputs = {input, mask, use_mask, input.dim(1).extent(), input.dim(2).extent(), temperature};
        result = dsl::softmax(inputs, {kind, {form.lanes, form.left}}).result;
        compute_all_at_root(Halide::Pipeline(result));
        result.compile_jit();
    }

    Halide::ImageParam input{Halide::Float(32), 3, "x"}, mask{Halide::UInt(8), 3, "mask"};
    Halide::Param<int32_t> use_mask;
    Halide::Param<float> temperature;
    Halide::Func result;
};

class Softmax : public SeededTestWithParam<Form> {
protected:
    /** Compiled once for all tests of a form. */
    static JitSoftmax &compiled(const Form &form) {
        static std::map<std::tuple<AxisKind, int, int>, std::unique_ptr<JitSoftmax>> all;
        std::unique_ptr<JitSoftmax> &one = all[{form.kind, form.lanes, form.left}];
        if (!one) one = std::make_unique<JitSoftmax>(form);
        return *one;
    }

    bool reduces() const { return GetParam().kind == AxisKind::log_sum_exp; }
    /** What an element of weight 0 gives. */
    float nothing() const { return GetParam().kind == AxisKind::softmax ? 0 : -infinity; }

    /** x: [row, i] or [row, i, column]; `counts` the same, or no memory. */
    Tensor<float> run(const Tensor<float> &x, float t, const Tensor<uint8_t> &counts = {}) {
        jit.input.set(buffer_of(with_columns(x))), jit.temperature.set(t), jit.use_mask.set(counts.memory != nullptr);
        jit.mask.set(buffer_of(with_columns(counts.memory ? counts : Tensor<uint8_t>(x.extent))));
        Extents extents = x.extent;
        if (reduces()) extents[1] = 1;
        Tensor<float> y(extents);
        Halide::Buffer<float> out = buffer_of(with_columns(y));
        jit.result.realize(out);
        EXPECT_TRUE(y.canaries_intact());
        return y;
    }

    void expect_exact(const Tensor<float> &x, float t, const Tensor<uint8_t> &counts = {}) {
        const AxisProblem p{GetParam().kind, x, 1, counts, t};
        const std::vector<double> exact = along_axis_in_double(p), rounded = along_axis_in_float(p);
        const double magnitude = std::max(1.0, largest_magnitude(exact));
        EXPECT_TRUE(agrees(to_double(run(x, t, counts)), exact, twice_rounded(exact, rounded, magnitude), 0))
            << x.extent[1] << " elements, temperature " << t;
    }

    template <typename T> static Tensor<T> with_columns(Tensor<T> tensor) {
        if (tensor.extent.size() == 2) tensor.extent.push_back(1), tensor.stride.push_back(1);
        return tensor;
    }

    JitSoftmax &jit = compiled(GetParam());
};

std::string name(const ::testing::TestParamInfo<Form> &info) {
    const char *const kinds[] = {"plain", "log", "sum"};
    return std::string(kinds[int(info.param.kind)]) + "_lanes" + std::to_string(info.param.lanes) + "_left" +
           std::to_string(info.param.left);
}
INSTANTIATE_TEST_SUITE_P(Forms, Softmax,
                         ::testing::Values(Form{AxisKind::softmax, 1, 1}, Form{AxisKind::softmax, 8, 1}, Form{AxisKind::softmax, 5, 5},
                                           Form{AxisKind::log_softmax, 1, 1}, Form{AxisKind::log_softmax, 16, 4},
                                           Form{AxisKind::log_sum_exp, 1, 1}, Form{AxisKind::log_sum_exp, 8, 8}),
                         name);

TEST_P(Softmax, AgreesWithFloat64) {
    for (int64_t extent : {1, 2, 7, 8, 9, 33}) {
        const Tensor<float> x({3, extent});
        random.fill_normal(x, 3);
        for (float t : {1.0f, 0.3f, 25.0f})
            expect_exact(x, t);
    }
}

TEST_P(Softmax, LowTemperatureGivesTheMaximum) {
    const Tensor<float> x({4, 19});
    random.fill_normal(x, 100);
    expect_exact(x, 1e-3f);
}

TEST_P(Softmax, MinusInfinityIsMasked) {
    const Tensor<float> x({4, 19});
    x.each([&](float &value) { value = random.chance(0.5) ? -infinity : float(random.normal()); });
    for (int i = 0; i < 19; i++)
        x(2, i) = -infinity;
    expect_exact(x, 1);
    const Tensor<float> y = run(x, 1);
    for (int i = 0; i < y.extent[1]; i++)
        EXPECT_EQ(y(2, i), nothing());
}

TEST_P(Softmax, WhatTheMaskLeavesOutChangesNothing) {
    const Tensor<float> x({5, 19, 3});
    const Tensor<uint8_t> counts(x.extent);
    random.fill_normal(x), random.fill_boolean(counts, 0.6);
    for (int i = 0; i < 19; i++)
        counts(2, i, 1) = 0;
    expect_exact(x, 0.7f, counts);
    const Tensor<float> clean = run(x, 0.7f, counts);
    for (float left_out : {infinity, -infinity, from_bits(0x7fc00000)}) {
        for (int row = 0; row < 5; row++)
            for (int i = 0; i < 19; i++)
                for (int column = 0; column < 3; column++)
                    if (!counts(row, i, column)) x(row, i, column) = left_out;
        EXPECT_TRUE(same_bits(run(x, 0.7f, counts), clean)) << left_out;
    }
    x(4, 7, 2) = from_bits(0x7fc00000), counts(4, 7, 2) = 1, counts(4, 8, 2) = 0;
    const Tensor<float> y = run(x, 0.7f, counts);
    EXPECT_TRUE(std::isnan(y(4, reduces() ? 0 : 7, 2)));
    if (!reduces()) {
        EXPECT_EQ(y(4, 8, 2), nothing()) << "left out of a line with NaN in it";
    }
}

TEST_P(Softmax, ColumnsAreApart) {
    const Tensor<float> x({2, 21, 9});
    random.fill_normal(x, 3);
    expect_exact(x, 1);
}

TEST_P(Softmax, InfinityIsTheLargest) {
    const Tensor<float> x({1, 19});
    random.fill_normal(x);
    x(0, 3) = x(0, 11) = infinity;
    expect_exact(x, 1);
    if (reduces()) {
        EXPECT_EQ(run(x, 1)(0, 0), infinity);
    }
    x(0, 5) = from_bits(0x7fc00000);
    expect_exact(x, 1);
}

TEST_P(Softmax, NanMakesItsRowNan) {
    for (float nan : all_kinds_of_nan())
        for (int place : {0, 7, 18}) {
            const Tensor<float> x({2, 19});
            random.fill_normal(x);
            x(1, place) = nan;
            const Tensor<float> y = run(x, 1);
            for (int i = 0; i < y.extent[1]; i++) {
                EXPECT_FALSE(std::isnan(y(0, i)));
                ASSERT_TRUE(std::isnan(y(1, i)))
                    << "NaN of bits " << std::hex << bits_of(nan) << " at " << std::dec << place << " gave " << y(1, i) << " at " << i;
            }
        }
}

TEST_P(Softmax, LargeLogitsDontOverflow) {
    const Tensor<float> x({2, 3});
    const float values[] = {1e4f, -1e4f, 9999.5f, -1e4f, -1e4f, -9999.0f};
    for (int i = 0; i < 6; i++)
        x(i / 3, i % 3) = values[i];
    expect_exact(x, 1);
}

} // namespace
} // namespace attune::test::softmax_test
