// Merging, slopes and positions on a GPU, against float64.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "attune/attune.hpp"
#include "compare.h"
#include "device_functions.h"
#include "merge_oracle.h"
#include "position_oracle.h"
#include "random.h"
#include "relative_oracle.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

class CudaFunctions : public SeededTest {};

TEST_F(CudaFunctions, Merge) {
    if (!is_linked("merge")) GTEST_SKIP() << "no kernel is linked in";
    for (auto [tokens, width] : {std::pair<int64_t, int64_t>{1, 7}, {65, 80}, {5, 256}}) {
        const auto part = [&, tokens = tokens, width = width] {
            PartialResult r{Tensor<float>({2, 3, tokens, width}), Tensor<float>({2, 3, tokens})};
            random.fill_normal(r.out), random.fill_normal(r.lse, 2);
            return r;
        };
        const PartialResult a = part(), b = part(), to = part();
        a.lse(0, 1, 0) = -INFINITY, b.lse(1, 1, 0) = -INFINITY, a.lse(1, 1, 0) = -INFINITY, b.lse(0, 2, 0) = NAN;
        DeviceMemory memory;
        const auto there = [&](const PartialResult &r) { return Partial{memory.upload(r.out.view()), memory.upload(r.lse.view())}; };
        const Partial merged = there(to);
        const Status status = merge(there(a), there(b), merged);
        ASSERT_TRUE(status.ok()) << status.message;
        memory.download(merged.out, to.out.view()), memory.download(merged.lse, to.lse.view());
        const MergedResult exact = merge_in_double(a, b);
        EXPECT_TRUE(agrees(to_double(to.out), exact.out, {1e-6, 2, largest_magnitude(exact.out)}));
        EXPECT_TRUE(agrees(to_double(to.lse), exact.lse, {5e-7, 2, 0}));
    }
}

TEST_F(CudaFunctions, SlopesOfAlibi) {
    if (!is_linked("alibi_slopes")) GTEST_SKIP() << "no kernel is linked in";
    for (int64_t heads : {1, 8, 12, 71}) {
        const Tensor<float> y({heads});
        DeviceMemory memory;
        run_into(memory, y.view(), [](const TensorView &there) { return alibi_slopes(there); });
        EXPECT_TRUE(agrees(to_double(y), slopes_in_double(heads), {0, 4, 0})) << heads;
    }
}

TEST_F(CudaFunctions, SinusoidalTables) {
    if (!is_linked("sinusoidal") || !is_linked("token_positions")) GTEST_SKIP() << "no kernel is linked in";
    for (auto [tokens, dim, offset] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 0}, {33, 65, -3}, {20, 512, 1000000 - 20}}) {
        const Tensor<float> y({tokens, dim}, {{}, 3});
        DeviceMemory memory;
        run_into(memory, y.view(), [offset = offset](const TensorView &there) { return sinusoidal(there, {10000.0, offset, ""}); });
        EXPECT_TRUE(agrees(to_double(y), sinusoidal_in_long_double(tokens, dim, 10000, offset), {1e-5, 1, 1})) << dim;
        EXPECT_TRUE(y.canaries_intact());
    }
}

/** As on the CPU, each number is the f32 table's, rounded once. */
TEST_F(CudaFunctions, SinusoidalTablesOfSixteenBitsAreRoundedOnce) {
    for (const attune_type type : {ATTUNE_F16, ATTUNE_BF16}) {
        for (const attune_type each : {ATTUNE_F32, type})
            if (!is_linked("sinusoidal", each) || !is_linked("token_positions")) GTEST_SKIP() << "a kernel isn't linked in";
        for (auto [tokens, dim, offset] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 0}, {33, 65, -3}, {20, 512, 1000000 - 20}}) {
            const Tensor<float> exact({tokens, dim});
            const TypedTensor y(type, Extents{tokens, dim});
            DeviceMemory memory;
            for (const attune_tensor &to : {exact.view(), y.view()})
                run_into(memory, to, [offset = offset](const TensorView &there) { return sinusoidal(there, {10000.0, offset, ""}); });
            EXPECT_EQ(y.bytes(), TypedTensor(type, exact).bytes()) << dim;
        }
    }
}

class CudaAddPositions : public SeededTestWithParam<attune_type> {
protected:
    void SetUp() override {
        for (const char *operation : {"sinusoidal", "token_positions"})
            if (!is_linked(operation)) GTEST_SKIP() << "no kernel of " << operation << " is linked in";
        if (!is_linked("add_positions", GetParam())) GTEST_SKIP() << "no kernel is linked in";
    }
    /** What is added in channel d of a token of a batch item. */
    using RowOf = std::function<double(int64_t batch, int64_t token, int64_t d)>;

    /** On [batch, heads, tokens, dim]; what `how` points to is on the device. Numbers of 16 bits are rounded once. */
    void expect_right(DeviceMemory &memory, const Extents &extents, const AddPositionsOptions &how, const RowOf &row,
                      const std::vector<int> &order = {}) {
        const Tensor<float> drawn(extents);
        random.fill_normal(drawn);
        const TypedTensor x(GetParam(), drawn), y(GetParam(), extents, order);
        const TensorView given(memory.upload(x.view()));
        run_into(memory, y.view(), [&](const TensorView &there) { return add_positions(given, there, how); });
        std::vector<double> exact;
        for_each_index(extents, [&](const Extents &at) { exact.push_back(x.get(at) + row(at[0], at[2], at[3])); });
        const double ulps = GetParam() == ATTUNE_F32 ? 1 : GetParam() == ATTUNE_BF16 ? 0x1p15 : 0x1p12; // of f32
        EXPECT_TRUE(agrees(y.values(), exact, {1e-5, ulps})) << extents[3] << " channels";

        run_into(memory, x.view(), [&](const TensorView &there) { return add_positions(there, there, how); });
        EXPECT_EQ(x.values(), y.values()) << "in place";
    }
};
INSTANTIATE_TEST_SUITE_P(Prebuilt, CudaAddPositions, ::testing::Values(ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16),
                         [](const auto &info) { return std::string(attune_type_name(info.param)); });

TEST_P(CudaAddPositions, Sinusoidal) {
    for (int64_t dim : {1, 7, 64, 130})
        for (int64_t offset : {-5, 1000000 - 9}) {
            DeviceMemory memory;
            AddPositionsOptions how;
            how.offset = offset, how.base = 500;
            expect_right(memory, {2, 3, 9, dim}, how,
                         [&](int64_t, int64_t token, int64_t d) { return sinusoid(offset + token, d, dim, 500); }, {0, 2, 1, 3});
        }
}

/** As on the CPU, each number is what f32 gives, rounded once. */
TEST_P(CudaAddPositions, RoundOnce) {
    if (!is_linked("add_positions")) GTEST_SKIP() << "no kernel of f32 is linked in";
    const Tensor<float> drawn({2, 3, 9, 65}), wide(drawn.extent), exact(drawn.extent);
    random.fill_normal(drawn);
    const TypedTensor x(GetParam(), drawn), y(GetParam(), drawn.extent);
    const std::vector<double> values = x.values();
    std::copy(values.begin(), values.end(), wide.data());
    AddPositionsOptions how;
    how.offset = 4095;
    DeviceMemory memory;
    for (const auto &[from, to] : {std::pair{wide.view(), exact.view()}, {x.view(), y.view()}}) {
        const TensorView given(memory.upload(from));
        run_into(memory, to, [&](const TensorView &there) { return add_positions(given, there, how); });
    }
    EXPECT_EQ(y.bytes(), TypedTensor(GetParam(), exact).bytes());
}

TEST_P(CudaAddPositions, SinusoidalAtGivenPlaces) {
    const Tensor<int32_t> numbers({2, 9});
    numbers.each([&](int32_t &value) { value = static_cast<int32_t>(random.between(-1000000, 1000000)); });
    DeviceMemory memory;
    const TensorView positions(memory.upload(numbers.view()));
    AddPositionsOptions how;
    how.positions = &positions;
    expect_right(memory, {2, 3, 9, 20}, how,
                 [&](int64_t batch, int64_t token, int64_t d) { return sinusoid(numbers(batch, token), d, 20, 10000); });
}

TEST_P(CudaAddPositions, LearnedRowsFromAnOffset) {
    for (int64_t dim : {16, 23}) {
        const Tensor<float> table({12, dim}, {{}, 2});
        random.fill_normal(table);
        DeviceMemory memory;
        const TensorView rows(memory.upload(table.view()));
        AddPositionsOptions how;
        how.table = &rows, how.offset = 3;
        expect_right(memory, {2, 3, 9, dim}, how, [&](int64_t, int64_t token, int64_t d) { return double(table(3 + token, d)); });
    }
}

class CudaRotary : public SeededTestWithParam<std::tuple<attune_type, RotaryLayout>> {
protected:
    static constexpr double angle_error = 1e-5; // radians, at positions up to 1,000,000

    attune_type type() const { return std::get<0>(GetParam()); }
    bool is_half() const { return std::get<1>(GetParam()) == RotaryLayout::half; }
    void SetUp() override {
        const bool linked = is_linked(is_half() ? "rotary_half" : "rotary_interleaved", type());
        if (!linked || !is_linked("rotary_table") || !is_linked("token_positions")) GTEST_SKIP() << "no kernel is linked in";
    }
    RotaryModel model_of(int64_t width) const {
        RotaryModel model;
        model.layout = std::get<1>(GetParam()), model.width = width;
        return model;
    }
    /** With positions [streams, batch, tokens]; without them, counted on from `first`. Numbers of 16 bits are rounded once. */
    void expect_right(const RotaryModel &model, const Extents &extents, const std::vector<int> &order = {},
                      const Tensor<int32_t> &numbers = {}, int64_t first = 0) {
        const Tensor<float> drawn(extents);
        random.fill_normal(drawn);
        const TypedTensor rounded(type(), drawn), y(type(), extents, order);
        const std::vector<double> values = rounded.values();
        const Tensor<float> x(extents);
        std::copy(values.begin(), values.end(), x.data());

        DeviceMemory memory;
        RotaryOptions how;
        how.base = model.base, how.scaling = model.scaling_text(), how.layout = is_half() ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
        how.rotary_dim = model.width, how.axes = model.axes > 1 ? static_cast<int32_t>(model.axes) : 0, how.offset = first;
        how.sections.assign(model.sections.begin(), model.sections.end());
        TensorView positions;
        if (numbers.memory) positions = memory.upload(in_streams(numbers)), how.positions = &positions;
        const TensorView given(memory.upload(rounded.view()));
        run_into(memory, y.view(), [&](const TensorView &there) { return rotary(given, there, how); });

        const auto position = [&](int64_t stream, int64_t batch, int64_t token) -> int64_t {
            return numbers.memory ? numbers(stream, batch, token) : first + token;
        };
        const double longest = std::sqrt(2.0) * largest_magnitude(values) * static_cast<double>(magnitude(model));
        const double ulps = type() == ATTUNE_F32 ? 4 : type() == ATTUNE_BF16 ? 0x1p15 : 0x1p12; // of f32
        EXPECT_TRUE(agrees(y.values(), rotary_in_long_double(x, model, position), {longest * angle_error, ulps}))
            << model.scaling_text() << ", width " << model.width << ", first " << first;
    }
    /** Without the axis of streams where there is one. */
    static attune_tensor in_streams(const Tensor<int32_t> &numbers) {
        return numbers.extent[0] == 1 ? attune_contiguous(numbers.data(), ATTUNE_I32, 2, &numbers.extent[1]) : numbers.view();
    }
    Tensor<int32_t> positions(const Extents &extents) {
        const Tensor<int32_t> numbers(extents);
        numbers.each([&](int32_t &value) { value = static_cast<int32_t>(random.between(-1000000, 1000000)); });
        return numbers;
    }
};
INSTANTIATE_TEST_SUITE_P(Prebuilt, CudaRotary,
                         ::testing::Combine(::testing::Values(ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16),
                                            ::testing::Values(RotaryLayout::half, RotaryLayout::interleaved)),
                         [](const auto &info) {
                             return std::string(attune_type_name(std::get<0>(info.param))) +
                                    (std::get<1>(info.param) == RotaryLayout::half ? "_half" : "_interleaved");
                         });

TEST_P(CudaRotary, WidthsAndLayouts) {
    for (int64_t width : {2, 30, 64, 130})
        expect_right(model_of(width), {2, 3, 9, width});
    expect_right(model_of(128), {1, 2, 33, 128}, {0, 2, 1, 3});
    for (int64_t heads : {8, 19}) // of which a thread turns several
        expect_right(model_of(32), {2, heads, 9, 40});
    for (auto [dim, width] : {std::pair<int64_t, int64_t>{64, 32}, {7, 4}, {81, 80}})
        expect_right(model_of(width), {1, 2, 9, dim});
}

TEST_P(CudaRotary, PositionsUpToAMillion) {
    for (int64_t first : {int64_t{-20}, int64_t{4095}, int64_t{1000000 - 17}})
        expect_right(model_of(64), {1, 2, 17, 64}, {}, {}, first);
    expect_right(model_of(64), {2, 3, 9, 64}, {}, positions({1, 2, 9}));
}

TEST_P(CudaRotary, ScalingsSectionsAndAxes) {
    RotaryModel model = model_of(64);
    model.scaling = "llama3", model.factor = 8, model.low = 1, model.high = 4, model.original = 8192, model.base = 500000;
    expect_right(model, {1, 2, 17, 64}, {}, {}, 100000);
    model = model_of(64), model.scaling = "yarn", model.factor = 4, model.original = 4096;
    expect_right(model, {1, 2, 17, 64}, {}, {}, 4000);
    model = model_of(128), model.sections = {16, 24, 24};
    expect_right(model, {2, 2, 9, 128}, {}, positions({3, 2, 9}));
    model = model_of(48), model.axes = 3;
    expect_right(model, {2, 3, 9, 48}, {}, positions({3, 2, 9}));
}

TEST_P(CudaRotary, InPlace) {
    const Tensor<float> drawn({2, 11, 9, 20});
    random.fill_normal(drawn);
    const TypedTensor x(type(), drawn), y(type(), drawn.extent);
    RotaryOptions how;
    how.layout = is_half() ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED, how.rotary_dim = 18, how.offset = 5;
    DeviceMemory memory;
    const TensorView given(memory.upload(x.view()));
    run_into(memory, y.view(), [&](const TensorView &there) { return rotary(given, there, how); });
    run_into(memory, x.view(), [&](const TensorView &there) { return rotary(there, there, how); });
    EXPECT_EQ(x.bytes(), y.bytes());
}

} // namespace
} // namespace attune::test
