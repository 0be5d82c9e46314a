// The declarations of softmax and log-softmax against float64.
#include "dsl/softmax.h"

#include <cmath>

#include "bits.h"
#include "compare.h"
#include "jit_attention.h"
#include "random.h"
#include "softmax_oracle.h"

namespace attune::test {
namespace {

struct Form {
    bool log;
    int lanes;
};

class Softmax : public SeededTestWithParam<Form> {
protected:
    Softmax() {
        const dsl::Softmax declared = dsl::softmax(input, input.dim(0).extent(), temperature, {GetParam().log, GetParam().lanes});
        result = declared.result;
        compute_all_at_root(Halide::Pipeline(result));
        result.compile_jit();
    }

    Tensor<float> run(const Tensor<float> &x, float t) {
        input.set(buffer_of(x)), temperature.set(t);
        Tensor<float> y(x.extent);
        Halide::Buffer<float> out = buffer_of(y);
        result.realize(out);
        EXPECT_TRUE(y.canaries_intact());
        return y;
    }

    void expect_exact(const Tensor<float> &x, float t) {
        const std::vector<double> exact = softmax_in_double(x, t, GetParam().log), rounded = softmax_in_float(x, t, GetParam().log);
        const double magnitude = GetParam().log ? std::max(1.0, largest_magnitude(exact)) : 1;
        EXPECT_TRUE(agrees(to_double(run(x, t)), exact, twice_rounded(exact, rounded, magnitude), 0))
            << x.extent[1] << " elements, temperature " << t;
    }

    Halide::ImageParam input{Halide::Float(32), 2, "x"};
    Halide::Param<float> temperature;
    Halide::Func result;
};

std::string name(const ::testing::TestParamInfo<Form> &info) {
    return std::string(info.param.log ? "log" : "plain") + "_lanes" + std::to_string(info.param.lanes);
}
INSTANTIATE_TEST_SUITE_P(Forms, Softmax, ::testing::Values(Form{false, 1}, Form{false, 8}, Form{false, 5}, Form{true, 1}, Form{true, 16}),
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
    for (int i = 0; i < 19; i++)
        EXPECT_EQ(y(2, i), GetParam().log ? -infinity : 0.0f);
}

TEST_P(Softmax, NanMakesItsRowNan) {
    for (float nan : all_kinds_of_nan())
        for (int place : {0, 7, 18}) {
            const Tensor<float> x({2, 19});
            random.fill_normal(x);
            x(1, place) = nan;
            const Tensor<float> y = run(x, 1);
            for (int i = 0; i < 19; i++) {
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
} // namespace attune::test
