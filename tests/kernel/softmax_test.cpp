// Softmax and log-softmax: every kernel, at awkward widths and extreme logits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attune/attune.hpp"
#include "compare.h"
#include "half.h"
#include "kernels.h"
#include "random.h"
#include "softmax_oracle.h"

namespace attune::test {
namespace {

class SoftmaxTest : public SeededTestWithParam<const attune_kernel *> {
protected:
    bool log() const { return std::string_view(GetParam()->operation) == "log_softmax"; }

    Tensor<float> logits(Extents extents, double deviation = 1, const Layout &layout = {}) {
        const Tensor<float> x(std::move(extents), layout);
        random.fill_normal(x, deviation);
        return x;
    }
    Tensor<float> run(const Tensor<float> &x, float temperature = 1) const {
        const Tensor<float> y(x.extent, {{}, 3});
        const Status status = softmax(x.view(), y.view(), {temperature, log(), -1, nullptr, GetParam()->schedule});
        EXPECT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(y.canaries_intact());
        return y;
    }
    void expect_right(const Tensor<float> &x, float temperature = 1, double finite_share = 0.5) const {
        const std::vector<double> exact = softmax_in_double(x, temperature, log());
        const std::vector<double> rounded = softmax_in_float(x, temperature, log());
        const Tolerance tolerance = twice_rounded(exact, rounded, std::max(1.0, largest_magnitude(exact)));
        EXPECT_TRUE(agrees(to_double(run(x, temperature)), exact, tolerance, finite_share)) << "temperature " << temperature;
    }
};

TEST_P(SoftmaxTest, AwkwardWidths) {
    for (int64_t width : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000})
        expect_right(logits({5, width}));
}

TEST_P(SoftmaxTest, AnyRankAndLayout) {
    expect_right(logits({33}));
    expect_right(logits({2, 3, 33}));
    expect_right(logits({2, 3, 4, 33}, 1, Layout::tokens_first(5)));
    expect_right(logits({1, 1, 1, 33}).broadcast({2, 3, 4, 33}));
}

TEST_P(SoftmaxTest, NothingToDo) {
    for (const Extents &extents : {Extents{0, 9}, {4, 0}, {0, 0}, {2, 0, 3, 4}})
        EXPECT_TRUE(run(Tensor<float>(extents)).untouched());
}

TEST_P(SoftmaxTest, LargeLogits) {
    expect_right(logits({9, 50}, 1e4));
    const Tensor<float> x = logits({9, 50});
    x.each([](float &value) { value += 1e4f; });
    expect_right(x);
    x.each([](float &value) { value -= 2e4f; });
    expect_right(x);
}

TEST_P(SoftmaxTest, ExtremeFloats) {
    const Tensor<float> x = logits({3, 40});
    const float lowest = std::numeric_limits<float>::lowest();
    for (int64_t i = 0; i < 40; i++)
        x(0, i) = lowest, x(1, i) = i == 20 ? 5.0f : lowest, x(2, i) = i == 39 ? -lowest : 0.0f;
    expect_right(x);
}

TEST_P(SoftmaxTest, Temperatures) {
    for (float temperature : {1e-3f, 0.01f, 0.5f, 2.0f, 100.0f})
        expect_right(logits({9, 50}), temperature);
}

TEST_P(SoftmaxTest, DifferencesPastTheRange) {
    const Tensor<float> x({1, 20});
    x.each([](float &value) { value = -3e38f; });
    x(0, 7) = 3e38f;
    for (float temperature : {100.0f, 1e30f, 1e36f}) {
        const double below = -6e38 / double(temperature), other = log() ? below : std::exp(below);
        std::vector<double> exact(20, other);
        exact[7] = log() ? 0 : 1;
        EXPECT_TRUE(agrees(to_double(run(x, temperature)), exact, {1e-6 * std::abs(other) + 1e-37}));
    }
}

TEST_P(SoftmaxTest, MinusInfinityMasks) {
    const Tensor<float> x = logits({6, 45});
    x.each([&](float &value) { value = random.chance(0.3) ? -INFINITY : value; });
    for (int64_t i = 0; i < 45; i++)
        x(2, i) = -INFINITY, x(4, i) = i == 44 ? 1.0f : -INFINITY;
    expect_right(x, 1, 0.3);
    const Tensor<float> y = run(x, 0.5f);
    for (int64_t i = 0; i < 45; i++)
        EXPECT_EQ(y(2, i), log() ? -INFINITY : 0.0f);
}

TEST_P(SoftmaxTest, NaNShowsInItsRowAlone) {
    for (int64_t place : {0, 13, 44}) {
        const Tensor<float> x = logits({5, 45});
        x(1, place) = NAN, x(3, place) = INFINITY;
        expect_right(x);
        for (int64_t i = 0; i < 45; i++)
            x(1, i) = i == place ? NAN : -INFINITY;
        const Tensor<float> y = run(x);
        EXPECT_TRUE(std::isnan(y(1, place))) << y(1, place);
    }
}

TEST_P(SoftmaxTest, InPlace) {
    const Tensor<float> x = logits({9, 50}), y = run(x);
    const Status status = softmax(x.view(), x.view(), {1, log(), -1, nullptr, GetParam()->schedule});
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(same_bits(x, y));
}

/** Numbers of 16 bits have the softmax of those of f32 that they are, rounded once: along both axes, rows that are streamed as well. */
TEST(SoftmaxOfSixteenBits, IsThatOfF32Rounded) {
    Random random(1);
    for (const Extents &extents : {Extents{7, 45}, {90, 33}, {3, 5000}, {2, 3, 129}, {9000, 2048}}) {
        const Tensor<float> numbers(extents);
        random.fill_normal(numbers, 3);
        for (attune_type type : {ATTUNE_BF16, ATTUNE_F16})
            for (bool log : {false, true})
                for (int32_t axis : {-1, 0}) {
                    if (extents[0] == 9000 && (log || axis == 0)) continue;
                    SCOPED_TRACE(std::to_string(extents[0]) + " rows, axis " + std::to_string(axis) + (log ? ", log" : ""));
                    HalfTensor x(type, numbers), y(type, numbers);
                    x.bits[3] = half_bits(type, -INFINITY);
                    const std::vector<double> values = x.values();
                    const Tensor<float> wide(extents), exact(extents);
                    std::copy(values.begin(), values.end(), wide.data());
                    ASSERT_TRUE(softmax(wide.view(), exact.view(), {0.7f, log, axis, nullptr, ""}).ok());
                    const Status status = softmax(TensorView(x.view()), TensorView(y.view()), {0.7f, log, axis, nullptr, ""});
                    ASSERT_TRUE(status.ok()) << status.message;
                    const std::vector<double> expected = to_double(exact), got = y.values();
                    for (size_t i = 0; i < got.size(); i++) {
                        if (expected[i] == got[i]) continue; // infinities
                        ASSERT_LE(std::abs(got[i] - expected[i]), 0.501 * half_ulp(type, std::abs(expected[i]))) << "at " << i;
                    }
                }
    }
}

TEST(SoftmaxOfSixteenBits, NaNShowsInItsRowAlone) {
    for (attune_type type : {ATTUNE_BF16, ATTUNE_F16})
        for (bool log : {false, true}) {
            const std::vector<uint16_t> nans = half_nans(type);
            const auto rows = static_cast<int64_t>(2 * nans.size());
            const Tensor<float> numbers({rows, 45});
            numbers.each([](float &number) { number = 0.5f; });
            HalfTensor x(type, numbers), y(type, numbers);
            for (size_t i = 0; i < nans.size(); i++)
                x.bits[2 * i * 45 + 4 * i] = nans[i];
            ASSERT_TRUE(softmax(TensorView(x.view()), TensorView(y.view()), {1, log, -1, nullptr, ""}).ok());
            const std::vector<double> got = y.values();
            for (size_t i = 0; i < got.size(); i++) {
                SCOPED_TRACE(i);
                EXPECT_EQ(std::isnan(got[i]), i / 45 % 2 == 0);
            }
        }
}

TEST(SoftmaxOfSixteenBits, InPlaceAndMixedTypes) {
    Random random(2);
    const Tensor<float> numbers({9, 50});
    random.fill_normal(numbers);
    const HalfTensor x(ATTUNE_BF16, numbers), y(ATTUNE_BF16, numbers), z(ATTUNE_F16, numbers);
    ASSERT_TRUE(softmax(TensorView(x.view()), TensorView(y.view())).ok());
    ASSERT_TRUE(softmax(TensorView(x.view()), TensorView(x.view())).ok());
    EXPECT_EQ(x.bits, y.bits);
    const Status mixed = softmax(TensorView(x.view()), TensorView(z.view()));
    EXPECT_EQ(mixed.code, ATTUNE_INVALID_ARGUMENT);
    EXPECT_NE(mixed.message.find("y.type"), std::string::npos) << mixed.message;
}

ATTUNE_FOR_EACH_KERNEL(SoftmaxTest, "softmax");
INSTANTIATE_TEST_SUITE_P(PrebuiltLog, SoftmaxTest, ::testing::ValuesIn(kernels_of("log_softmax")), kernel_name);

} // namespace
} // namespace attune::test
