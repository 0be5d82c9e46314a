// Layer norm, RMS norm and embedding, against float64.
#include <algorithm>
#include <cmath>

#include "attune/attune.hpp"
#include "compare.h"
#include "half.h"
#include "kernels.h"
#include "random.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

std::vector<const attune_kernel *> kernels_of(std::initializer_list<std::string_view> operations) {
    std::vector<const attune_kernel *> kernels;
    for (int32_t index = 0; index < attune_kernel_count(); index++) {
        const attune_kernel *kernel = attune_kernel_at(index);
        if (kernel->device == ATTUNE_CPU && std::count(operations.begin(), operations.end(), kernel->operation)) kernels.push_back(kernel);
    }
    return kernels;
}

class NormKernels : public SeededTestWithParam<const attune_kernel *> {
protected:
    attune_type type() const { return GetParam()->dtype; }
    bool centred() const { return std::string_view(GetParam()->operation) == "layer_norm"; }

    TypedTensor normal(attune_type of, const Extents &extents, double mean = 0, const std::vector<int> &order = {}) {
        TypedTensor tensor(of, extents, order);
        for_each_index(extents, [&](const Extents &index) { tensor.set(index, random.normal(1, mean)); });
        return tensor;
    }
    Status run(const TypedTensor &x, const TypedTensor &y, NormOptions options, attune_call *call = nullptr) const {
        options.schedule = GetParam()->schedule;
        return centred() ? layer_norm(x.view(), y.view(), options, call) : rms_norm(x.view(), y.view(), options, call);
    }
    std::vector<double> exact(const std::vector<double> &x, int64_t channels, const std::vector<double> &w, const std::vector<double> &b,
                              double epsilon) const {
        std::vector<double> y;
        for (size_t first = 0; first < x.size(); first += channels) {
            double mean = 0, squares = 0;
            for (int64_t c = 0; c < channels; c++)
                mean += centred() ? x[first + c] / static_cast<double>(channels) : 0;
            for (int64_t c = 0; c < channels; c++)
                squares += (x[first + c] - mean) * (x[first + c] - mean) / static_cast<double>(channels);
            for (int64_t c = 0; c < channels; c++)
                y.push_back((x[first + c] - mean) / std::sqrt(squares + epsilon) * w[c] + (centred() ? b[c] : 0));
        }
        return y;
    }
    Tolerance tolerance(const std::vector<double> &want, double mean) const {
        const double largest = largest_magnitude(want);
        return {(2e-6 + 6e-7 * std::abs(mean)) * largest + (type() == ATTUNE_BF16 ? half_ulp(type(), largest) : 0), 1, 0};
    }
};

TEST_P(NormKernels, AnyWidthWithResidual) {
    for (int64_t channels : {1, 3, 15, 16, 17, 63, 64, 65, 127, 200, 768, 1003})
        for (double mean : {0.0, 30.0}) {
            SCOPED_TRACE(std::to_string(channels) + " channels, mean " + std::to_string(mean));
            const TypedTensor x = normal(type(), {2, 9, channels}, mean), y(type(), {2, 9, channels}, {1, 0, 2});
            const TypedTensor residual = normal(type(), {2, 9, channels}), sum(type(), {2, 9, channels});
            const TypedTensor w = normal(ATTUNE_F32, {channels}), b = normal(ATTUNE_BF16, {channels});
            const TensorView w_view = w.view(), b_view = b.view(), residual_view = residual.view(), sum_view = sum.view();
            NormOptions options;
            options.weight = &w_view, options.bias = centred() ? &b_view : nullptr, options.epsilon = 1e-3f;
            Status status = run(x, y, options);
            ASSERT_TRUE(status.ok()) << status.message;
            std::vector<double> want = exact(x.values(), channels, w.values(), b.values(), 1e-3);
            EXPECT_TRUE(agrees(y.values(), want, tolerance(want, mean)));

            options.residual = &residual_view, options.sum = &sum_view;
            status = run(x, y, options);
            ASSERT_TRUE(status.ok()) << status.message;
            std::vector<double> sums = x.values();
            const std::vector<double> added = residual.values();
            for (size_t i = 0; i < sums.size(); i++)
                sums[i] = type() == ATTUNE_F32 ? static_cast<float>(sums[i] + added[i])
                                               : round_to(type(), static_cast<float>(sums[i] + added[i]));
            EXPECT_EQ(sum.values(), sums);
            want = exact(sums, channels, w.values(), b.values(), 1e-3);
            EXPECT_TRUE(agrees(y.values(), want, tolerance(want, mean)));
        }
}

TEST_P(NormKernels, InPlaceForAnyNumberOfThreads) {
    const TypedTensor x = normal(type(), {40, 100}), y(type(), {40, 100});
    ASSERT_TRUE(run(x, y, {}).ok());
    for (int32_t threads : {1, 2, 3, 7}) {
        TypedTensor place(type(), {40, 100});
        for_each_index({40, 100}, [&](const Extents &index) { place.set(index, x.get(index)); });
        Call call(threads);
        ASSERT_TRUE(run(place, place, {}, &call).ok());
        EXPECT_EQ(place.bytes(), y.bytes()) << threads << " threads";
    }
}

TEST_P(NormKernels, NaNStaysInItsRowAndNothingIsToDo) {
    TypedTensor x = normal(type(), {5, 70}), y(type(), {5, 70}), none(type(), {0, 70});
    x.set({3, 69}, NAN);
    ASSERT_TRUE(run(x, y, {}).ok());
    for_each_index({5, 70}, [&](const Extents &index) { EXPECT_EQ(std::isnan(y.get(index)), index[0] == 3); });
    EXPECT_TRUE(run(none, none, {}).ok());
}

INSTANTIATE_TEST_SUITE_P(Prebuilt, NormKernels, ::testing::ValuesIn(kernels_of({"layer_norm", "rms_norm"})), kernel_name);

class LayerNormKernels : public NormKernels {};

// Whose mean, rounded, is some ulps off: nothing but that would be left of a row of the same numbers.
TEST_P(LayerNormKernels, RowsOfTheSameNumbersHaveNoDeviations) {
    for (int64_t channels : {768, 4096, 5120})
        for (double number : {1000.1, -100.3, 0.7}) {
            SCOPED_TRACE(std::to_string(channels) + " times " + std::to_string(number));
            TypedTensor x(type(), {3, channels}), y(type(), {3, channels});
            const TypedTensor b = normal(ATTUNE_F32, {channels});
            for_each_index({3, channels}, [&](const Extents &index) { x.set(index, number); });
            const TensorView bias = b.view();
            NormOptions options;
            options.bias = &bias;
            ASSERT_TRUE(run(x, y, options).ok());
            for_each_index({3, channels}, [&](const Extents &index) {
                ASSERT_EQ(y.get(index), round_to(type(), static_cast<float>(b.get({index[1]})))) << "channel " << index[1];
            });
        }
}

TEST_P(LayerNormKernels, SmallDeviationsFromALargeMean) {
    const int64_t channels = 4096;
    TypedTensor x(type(), {2, channels}), y(type(), {2, channels});
    const double deviation = type() == ATTUNE_F32 ? 0.01 : 8; // some ulps of 1000
    for_each_index({2, channels}, [&](const Extents &index) { x.set(index, static_cast<float>(random.normal(deviation, 1000))); });
    ASSERT_TRUE(run(x, y, {}).ok());
    const std::vector<double> ones(channels, 1), zeros(channels, 0), want = exact(x.values(), channels, ones, zeros, 1e-5);
    // An ulp of 1000 in f32 is 0.0061 of the deviation.
    const double rounded = type() == ATTUNE_F32 ? 0 : half_ulp(type(), largest_magnitude(want));
    EXPECT_TRUE(agrees(y.values(), want, {0.0062 + rounded, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Prebuilt, LayerNormKernels, ::testing::ValuesIn(kernels_of({"layer_norm"})), kernel_name);

class Embedding : public SeededTestWithParam<attune_type> {};

TEST_P(Embedding, GathersRowsAndAddsPositions) {
    const TypedTensor table(GetParam(), {11, 5}), positions(GetParam(), {9, 5}), y(GetParam(), {2, 3, 5});
    TypedTensor rows = table, places = positions;
    for_each_index({11, 5}, [&](const Extents &index) { rows.set(index, random.normal()); });
    for_each_index({9, 5}, [&](const Extents &index) { places.set(index, random.normal()); });
    const Tensor<int64_t> ids({2, 3});
    ids.each([&](int64_t &id) { id = random.between(0, 10); });
    const TensorView place_view = places.view();
    for (bool with_positions : {false, true}) {
        const Status status = embedding(ids.view(), rows.view(), y.view(), {with_positions ? &place_view : nullptr, 6});
        ASSERT_TRUE(status.ok()) << status.message;
        for_each_index({2, 3, 5}, [&](const Extents &at) {
            const double added = with_positions ? places.get({6 + at[1], at[2]}) : 0, sum = rows.get({ids(at[0], at[1]), at[2]}) + added;
            EXPECT_EQ(y.get(at), GetParam() == ATTUNE_F32 ? static_cast<float>(sum) : round_to(GetParam(), static_cast<float>(sum)));
        });
    }
}

TEST_P(Embedding, NamesWhatIsWrong) {
    const TypedTensor table(GetParam(), {11, 5}), y(GetParam(), {3, 5});
    const Tensor<int32_t> ids({3});
    ids.fill(2), ids(1) = 11;
    const TensorView positions = table.view();
    EXPECT_EQ(embedding(ids.view(), table.view(), y.view()).message, "ids has 11; it must be 0 to 10, for table has 11 rows");
    EXPECT_TRUE(y.untouched({0, 0}));
    ids.fill(0);
    EXPECT_NE(embedding(ids.view(), table.view(), y.view(), {&positions, 9}).message.find("offset is 9; it must be 0 to 8"),
              std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Types, Embedding, ::testing::Values(ATTUNE_F32, ATTUNE_BF16));

} // namespace
} // namespace attune::test
