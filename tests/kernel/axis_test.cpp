// Softmax, log-softmax and log-sum-exp along every axis: every schedule, with any strides and masks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attune/attune.hpp"
#include "compare.h"
#include "kernels.h"
#include "random.h"
#include "softmax_oracle.h"

namespace attune::test {
namespace {

class AxisTest : public SeededTestWithParam<const attune_kernel *> {
protected:
    AxisKind kind() const {
        const std::string_view operation = GetParam()->operation;
        return operation == "softmax" ? AxisKind::softmax : operation == "log_softmax" ? AxisKind::log_softmax : AxisKind::log_sum_exp;
    }
    bool reduces() const { return kind() == AxisKind::log_sum_exp; }

    AxisProblem problem(const Extents &extents, int axis, const Layout &layout = {}, double deviation = 2) {
        const Tensor<float> x(extents, layout);
        random.fill_normal(x, deviation);
        return {kind(), x, axis};
    }
    /** A mask whose axes named by the bits of `full` are full and the others 1, seen as wide as x. */
    Tensor<uint8_t> mask_for(const Tensor<float> &x, unsigned full, double probability = 0.7) {
        Extents extents = x.extent;
        for (size_t axis = 0; axis < extents.size(); axis++)
            if (!(full >> axis & 1)) extents[axis] = 1;
        const Tensor<uint8_t> mask(extents);
        random.fill_boolean(mask, probability);
        return mask.broadcast(x.extent);
    }
    Extents output_extents(const AxisProblem &p) const {
        Extents extents = p.x.extent;
        if (reduces()) extents[p.axis] = 1;
        return extents;
    }
    Status call(const AxisProblem &p, const Tensor<float> &y, int axis) const {
        TensorView mask;
        if (p.mask.memory) mask = p.mask.view();
        const TensorView *given = p.mask.memory ? &mask : nullptr;
        if (reduces()) return log_sum_exp(p.x.view(), y.view(), {p.temperature, axis, given, GetParam()->schedule});
        return softmax(p.x.view(), y.view(), {p.temperature, kind() == AxisKind::log_softmax, axis, given, GetParam()->schedule});
    }
    std::vector<double> run(const AxisProblem &p, const Layout &layout = {{}, 3}) const {
        const Tensor<float> y(output_extents(p), layout);
        const Status status = call(p, y, p.axis);
        EXPECT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(y.canaries_intact());
        return to_double(y);
    }
    void expect_right(const AxisProblem &p, const Layout &layout = {{}, 3}, double finite_share = 0.3) const {
        const std::vector<double> exact = along_axis_in_double(p);
        const Tolerance tolerance = twice_rounded(exact, along_axis_in_float(p), std::max(1.0, largest_magnitude(exact)));
        EXPECT_TRUE(agrees(run(p, layout), exact, tolerance, finite_share)) << "axis " << p.axis << " of rank " << p.x.extent.size();
    }
};

TEST_P(AxisTest, EveryAxisOfEveryRank) {
    const Extents extents = {2, 5, 3, 19, 6};
    for (size_t rank = 1; rank <= extents.size(); rank++)
        for (int axis = 0; axis < int(rank); axis++)
            expect_right(problem({extents.end() - rank, extents.end()}, axis));
}

TEST_P(AxisTest, AwkwardNumbersOfColumns) {
    for (int64_t columns : {1, 2, 7, 8, 15, 16, 17, 31, 63, 64, 65, 131})
        for (int64_t length : {1, 2, 37})
            expect_right(problem({3, length, columns}, 1));
}

/** What is nearly alike is rounded alike, sum after sum. */
TEST_P(AxisTest, ManyElementsThatAreNearlyAlike) {
    for (int axis : {0, 1}) {
        const AxisProblem p = problem(axis == 0 ? Extents{30000, 3} : Extents{3, 30000}, axis, {}, 1e-4);
        const std::vector<double> exact = along_axis_in_double(p);
        EXPECT_TRUE(agrees(run(p), exact, {2e-6 * largest_magnitude(exact)})) << "axis " << axis;
    }
}

TEST_P(AxisTest, AxesCountedFromTheEnd) {
    const AxisProblem p = problem({3, 4, 5}, 1);
    const Tensor<float> y(output_extents(p)), same(output_extents(p));
    ASSERT_TRUE(call(p, y, 1).ok());
    ASSERT_TRUE(call(p, same, -2).ok());
    EXPECT_TRUE(same_bits(y, same));
}

TEST_P(AxisTest, AnyStrides) {
    const std::vector<Layout> layouts = {{{0, 1, 2}, 0}, {{2, 1, 0}, 5}, {{1, 2, 0}, 0}, {{2, 0, 1}, 1}, {{0, 2, 1}, 3}};
    for (const Layout &of_x : layouts)
        for (const Layout &of_y : layouts)
            for (int axis = 0; axis < 3; axis++)
                expect_right(problem({4, 21, 18}, axis, of_x), of_y);
}

TEST_P(AxisTest, BroadcastAndReversedInput) {
    for (int axis = 0; axis < 3; axis++)
        for (int broadcast = 0; broadcast < 3; broadcast++) {
            Extents extents = {4, 21, 18};
            extents[broadcast] = 1;
            AxisProblem p = problem(extents, axis);
            p.x = p.x.broadcast({4, 21, 18});
            expect_right(p);
            const int other = (broadcast + 1) % 3;
            p.x.first += (p.x.extent[other] - 1) * p.x.stride[other];
            p.x.stride[other] *= -1;
            expect_right(p);
        }
}

TEST_P(AxisTest, MasksOfEveryShape) {
    for (int axis = 0; axis < 3; axis++)
        for (unsigned full = 0; full < 8; full++) {
            AxisProblem p = problem({5, 37, 67}, axis);
            p.mask = mask_for(p.x, full);
            expect_right(p, {{}, 3}, 0);
            p.mask = mask_for(p.x, full, 1);
            expect_right(p);
        }
}

TEST_P(AxisTest, MaskOfItsOwnStrides) {
    for (int axis = 0; axis < 3; axis++) {
        AxisProblem p = problem({5, 37, 67}, axis);
        p.mask = mask_for(p.x, 7).laid_out({{1, 2, 0}, 2});
        expect_right(p);
    }
}

TEST_P(AxisTest, MaskedNumbersChangeNothing) {
    const float extremes[] = {NAN, INFINITY, -INFINITY, std::numeric_limits<float>::max()};
    for (int axis = 0; axis < 2; axis++) {
        AxisProblem p = problem({41, 35}, axis);
        p.mask = mask_for(p.x, 3, 0.5);
        for (int64_t i = 0; i < 41; i++)
            axis == 0 ? p.mask(i, 7) = 0 : p.mask(7, i % 35) = 0; // a line of which nothing counts
        const std::vector<double> clean = run(p);
        expect_right(p);
        for (int64_t i = 0; i < 41; i++)
            for (int64_t j = 0; j < 35; j++)
                if (!p.mask(i, j)) p.x(i, j) = extremes[random.between(0, 3)];
        EXPECT_EQ(run(p), clean);
    }
}

TEST_P(AxisTest, NaNShowsInItsLineAlone) {
    for (int axis = 0; axis < 2; axis++)
        for (bool masked : {false, true}) {
            AxisProblem p = problem({41, 35}, axis);
            if (masked) p.mask = mask_for(p.x, 3);
            for (int64_t line : {2, 20, 34}) {
                axis == 0 ? p.x(17, line) = NAN : p.x(line, 17) = NAN;
                if (masked) axis == 0 ? p.mask(17, line) = 1 : p.mask(line, 17) = 1;
            }
            expect_right(p);
        }
}

TEST_P(AxisTest, InfinitiesAsDocumented) {
    for (int axis = 0; axis < 2; axis++) {
        AxisProblem p = problem({41, 35}, axis);
        for (int64_t i = 0; i < 35; i++)
            axis == 0 ? p.x(i, 3) = -INFINITY : p.x(3, i) = -INFINITY;
        if (axis == 0)
            for (int64_t i = 35; i < 41; i++)
                p.x(i, 3) = -INFINITY;
        p.x(9, 9) = INFINITY, p.x(9, 10) = -INFINITY;
        expect_right(p);
    }
}

TEST_P(AxisTest, Temperatures) {
    for (int axis = 0; axis < 2; axis++)
        for (float temperature : {1e-3f, 0.3f, 7.0f, 100.0f}) {
            AxisProblem p = problem({40, 35}, axis);
            p.temperature = temperature;
            expect_right(p);
        }
}

TEST_P(AxisTest, ExtremeTemperatures) {
    for (int axis = 0; axis < 2; axis++)
        for (float temperature : extreme_temperatures) {
            AxisProblem p = problem({40, 35}, axis);
            p.temperature = temperature;
            EXPECT_TRUE(agrees(run(p), along_axis_rounded_once(p), {1e-6, 2, 0}, 0)) << "temperature " << temperature;
        }
}

TEST_P(AxisTest, TemperaturesAsExtremeAsTheNumbers) {
    for (int axis = 0; axis < 2; axis++)
        for (float temperature : {1e-36f, 1e-33f, 1e33f, 1e37f, 1e38f}) {
            AxisProblem p = problem({40, 35}, axis);
            p.x.each([&](float &value) { value = std::clamp(value, -1.5f, 1.5f) * std::min(temperature, 1e37f); });
            p.temperature = temperature;
            expect_right(p);
        }
}

TEST_P(AxisTest, InPlace) {
    if (reduces()) GTEST_SKIP() << "what is reduced has one element a row";
    for (int axis = 0; axis < 3; axis++)
        for (bool masked : {false, true}) {
            AxisProblem p = problem({5, 37, 67}, axis);
            if (masked) p.mask = mask_for(p.x, 6);
            const std::vector<double> apart = run(p);
            ASSERT_TRUE(call(p, p.x, axis).ok());
            EXPECT_EQ(to_double(p.x), apart) << "axis " << axis;
        }
}

TEST_P(AxisTest, SumOfNothingIsMinusInfinity) {
    const AxisProblem p = problem({3, 0, 4}, 1);
    const std::vector<double> y = run(p, {{2, 1, 0}, 1});
    EXPECT_EQ(y, std::vector<double>(reduces() ? 12 : 0, -INFINITY));
    EXPECT_TRUE(run(problem({0, 3, 4}, 1)).empty());
}

TEST_P(AxisTest, ManyColumnsOnManyThreads) {
    const AxisProblem p = problem({3, 50, 1000}, 1);
    expect_right(p);
}

ATTUNE_FOR_EACH_KERNEL(AxisTest, "softmax");
INSTANTIATE_TEST_SUITE_P(PrebuiltLog, AxisTest, ::testing::ValuesIn(kernels_of("log_softmax")), kernel_name);
INSTANTIATE_TEST_SUITE_P(PrebuiltSum, AxisTest, ::testing::ValuesIn(kernels_of("log_sum_exp")), kernel_name);

} // namespace
} // namespace attune::test
