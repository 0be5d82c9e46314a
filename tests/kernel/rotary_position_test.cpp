// Rotary embedding by explicit positions, scalings, sections and axes: every kernel, against angles in long double.
#include <cmath>

#include "attune/attune.hpp"
#include "compare.h"
#include "golden_frequencies.h"
#include "kernels.h"
#include "position_oracle.h"
#include "random.h"

namespace attune::test {
namespace {

constexpr double angle_error = 1e-5; // radians, at positions up to 1,000,000

class RotaryPositions : public SeededTestWithParam<const attune_kernel *> {
protected:
    RotaryModel model_of(int64_t width) const {
        RotaryModel model;
        model.layout = std::string_view(GetParam()->operation) == "rotary_interleaved" ? RotaryLayout::interleaved : RotaryLayout::half;
        model.width = width;
        return model;
    }
    RotaryOptions options(const RotaryModel &model) const {
        RotaryOptions how;
        how.base = model.base, how.scaling = model.scaling_text(), how.schedule = GetParam()->schedule;
        how.layout = model.layout == RotaryLayout::half ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
        how.rotary_dim = model.width, how.axes = model.axes > 1 ? static_cast<int32_t>(model.axes) : 0;
        how.sections.assign(model.sections.begin(), model.sections.end());
        return how;
    }
    /** `how` is the model's options; position says where they put each token. */
    void expect_right(const RotaryModel &model, const RotaryOptions &how, const PositionOf &position, const Extents &extents) {
        const Tensor<float> x(extents), y(extents, {{}, 3});
        random.fill_normal(x);
        const Status status = rotary(x.view(), y.view(), how);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(y.canaries_intact());
        const double longest = std::sqrt(2.0) * largest_magnitude(to_double(x)) * static_cast<double>(magnitude(model));
        EXPECT_TRUE(agrees(to_double(y), rotary_in_long_double(x, model, position), {longest * angle_error, 1, longest}))
            << model.scaling_text() << ", " << model.axes << " axes, " << model.sections.size() << " sections";
    }
    /** The same with positions in a tensor [streams, batch, tokens] or its last axes. */
    template <typename T> void expect_right(const RotaryModel &model, const Tensor<T> &numbers, const Extents &extents) {
        const TensorView view = numbers.view();
        RotaryOptions how = options(model);
        how.positions = &view;
        const size_t rank = numbers.extent.size();
        const auto position = [&](int64_t stream, int64_t batch, int64_t token) -> int64_t {
            if (rank == 1) return numbers(token);
            const int64_t item = numbers.extent[rank - 2] == 1 ? 0 : batch;
            return rank == 2 ? numbers(item, token) : numbers(stream, item, token);
        };
        expect_right(model, how, position, extents);
    }
    template <typename T> Tensor<T> random_positions(const Extents &extents, const Layout &layout = {}) {
        const Tensor<T> numbers(extents, layout);
        numbers.each([&](T &value) { value = static_cast<T>(random.between(-1000000, 1000000)); });
        return numbers;
    }
};

/** Whose base is past what a number can be. The first pair turns by 1 a token whatever the base, the others hardly at all. */
TEST_P(RotaryPositions, LargestFactorsOfNtkGiveNumbers) {
    RotaryOptions how = options(model_of(8));
    how.scaling = "ntk(1e308)";
    const Tensor<float> x({1, 1, 5, 8}), y(x.extent);
    x.fill(1);
    const Status status = rotary(x.view(), y.view(), how);
    ASSERT_TRUE(status.ok()) << status.message;
    const int64_t second = how.layout == ATTUNE_ROTARY_HALF ? 4 : 1;
    for (int64_t token = 0; token < 5; token++)
        for (int64_t c = 0; c < 8; c++) {
            const double angle = c == 0 || c == second ? double(token) : 0, sign = c == 0 ? -1 : 1;
            EXPECT_NEAR(y(0, 0, token, c), std::cos(angle) + sign * std::sin(angle), 1e-6) << token << ", " << c;
        }
}

TEST_P(RotaryPositions, OfEachTokenAndItem) {
    const RotaryModel model = model_of(16);
    expect_right(model, random_positions<int64_t>({9}), {9, 16});
    expect_right(model, random_positions<int32_t>({9}), {2, 3, 9, 16});
    expect_right(model, random_positions<int64_t>({2, 9}, {{1, 0}, 1}), {2, 3, 9, 16});
    expect_right(model, random_positions<int32_t>({1, 9}), {2, 3, 9, 18});
    expect_right(model, random_positions<int32_t>({1}).broadcast({9}), {2, 3, 9, 18});
}

TEST_P(RotaryPositions, ReachTheEndsOfInt32) {
    const Tensor<int64_t> numbers({2});
    numbers(0) = INT32_MIN, numbers(1) = INT32_MAX;
    const RotaryModel model = model_of(8);
    expect_right(model, numbers, {3, 2, 8});
}

TEST_P(RotaryPositions, SectionsOfPairs) {
    RotaryModel model = model_of(128);
    model.base = 1e6, model.sections = {16, 24, 24};
    expect_right(model, random_positions<int64_t>({3, 2, 9}), {2, 2, 9, 128});
    expect_right(model, random_positions<int32_t>({3, 1, 9}), {2, 2, 9, 130});
    model.width = 20, model.sections = {3, 0, 7};
    expect_right(model, random_positions<int32_t>({3, 2, 9}), {2, 2, 9, 24});
    // Text tokens have one position in all streams.
    expect_right(model, random_positions<int32_t>({2, 9}), {2, 2, 9, 24});
    expect_right(model, options(model), [](int64_t, int64_t, int64_t token) { return token; }, {2, 2, 9, 24});
}

TEST_P(RotaryPositions, AxesOfEqualWidth) {
    for (auto [width, axes] : {std::pair<int64_t, int64_t>{64, 2}, {64, 1}, {48, 3}, {16, 8}, {12, 2}}) {
        RotaryModel model = model_of(width);
        model.axes = axes;
        if (axes > 1) expect_right(model, random_positions<int64_t>({axes, 2, 9}), {2, 3, 9, width});
        if (axes > 1) expect_right(model, random_positions<int64_t>({axes, 1, 9}), {2, 3, 9, width + 5});
        expect_right(model, options(model), [](int64_t, int64_t, int64_t token) { return token; }, {2, 3, 9, width});
    }
}

TEST_P(RotaryPositions, EveryScalingUpToAMillion) {
    for (const golden::Frequencies &golden : golden::frequencies())
        for (int64_t width : {golden.model.width, int64_t(64)})
            for (int64_t first : {0, 4000, 1000000 - 17}) {
                RotaryModel model = golden.model;
                model.layout = model_of(width).layout, model.width = width;
                RotaryOptions how = options(model);
                how.offset = first;
                expect_right(model, how, [&](int64_t, int64_t, int64_t token) { return first + token; }, {1, 2, 17, width});
            }
}

TEST_P(RotaryPositions, MoreTokensThanOneTableHolds) {
    RotaryModel model = model_of(256);
    const Tensor<int32_t> numbers = random_positions<int32_t>({2, 4999}); // 2 items of 256 values each: two tables and a part
    expect_right(model, numbers, {2, 1, 4999, 256});
}

TEST_P(RotaryPositions, InPlace) {
    RotaryModel model = model_of(48);
    model.axes = 3;
    const Tensor<int32_t> numbers = random_positions<int32_t>({3, 2, 9});
    const TensorView view = numbers.view();
    RotaryOptions how = options(model);
    how.positions = &view;
    const Tensor<float> x({2, 3, 9, 50}), y({2, 3, 9, 50});
    random.fill_normal(x);
    ASSERT_TRUE(rotary(x.view(), y.view(), how).ok());
    ASSERT_TRUE(rotary(x.view(), x.view(), how).ok());
    EXPECT_TRUE(same_bits(x, y));
}

ATTUNE_FOR_EACH_KERNEL(RotaryPositions, "rotary_half");
INSTANTIATE_TEST_SUITE_P(PrebuiltInterleaved, RotaryPositions, ::testing::ValuesIn(kernels_of("rotary_interleaved")), kernel_name);

} // namespace
} // namespace attune::test
