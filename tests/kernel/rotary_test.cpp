// Rotary position embedding: every kernel, against angles in long double.
#include <cmath>
#include <cstring>

#include "attune/attune.hpp"
#include "compare.h"
#include "half.h"
#include "kernels.h"
#include "position_oracle.h"
#include "random.h"
#include "typed_tensor.h"

namespace attune::test::rotary_test {
namespace {

constexpr double angle_error = 1e-5; // radians, at positions up to 1,000,000

class Rotary : public SeededTestWithParam<const attune_kernel *> {
protected:
    bool interleaved() const { return std::string_view(GetParam()->operation) == "rotary_interleaved"; }
    RotaryOptions options(int64_t offset = 0, int64_t rotary_dim = 0, double base = 10000) const {
        RotaryOptions how;
        how.base = base, how.rotary_dim = rotary_dim, how.offset = offset, how.schedule = GetParam()->schedule;
        how.layout = interleaved() ? ATTUNE_ROTARY_INTERLEAVED : ATTUNE_ROTARY_HALF;
        return how;
    }
    Tensor<float> normal(Extents extents, const Layout &layout = {}) {
        const Tensor<float> x(std::move(extents), layout);
        random.fill_normal(x);
        return x;
    }
    Tensor<float> run(const Tensor<float> &x, const RotaryOptions &how) const {
        const Tensor<float> y(x.extent, {{}, 3});
        const Status status = rotary(x.view(), y.view(), how);
        EXPECT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(y.canaries_intact());
        return y;
    }
    std::vector<double> expected(const Tensor<float> &x, const RotaryOptions &how) const {
        const int64_t rotary_dim = how.rotary_dim != 0 ? how.rotary_dim : x.extent.back();
        return rotary_in_long_double(x, how.base, interleaved() ? RotaryLayout::interleaved : RotaryLayout::half, rotary_dim, how.offset);
    }
    /** An angle off by e moves a pair of length r by r e; then f32 rounds. */
    void expect_right(const Tensor<float> &x, const RotaryOptions &how, double finite_share = 0.5) const {
        const double longest = std::sqrt(2.0) * largest_magnitude(to_double(x));
        EXPECT_TRUE(agrees(to_double(run(x, how)), expected(x, how), {longest * angle_error, 1, longest}, finite_share))
            << "offset " << how.offset << ", rotary_dim " << how.rotary_dim << ", base " << how.base;
    }
};

TEST_P(Rotary, AwkwardWidths) {
    for (int64_t dim : {2, 4, 6, 16, 18, 30, 32, 34, 64, 80, 128, 130, 256})
        for (int64_t tokens : {1, 7, 33})
            expect_right(normal({2, 3, tokens, dim}), options());
}

/** Pairs, and channels that pass, that fill a vector of each length or not, and apart and in place, where those stay where they are. */
TEST_P(Rotary, LeadingChannelsAloneTurnAndOthersPassBitForBit) {
    for (int64_t rotary_dim : {2, 4, 8, 10, 16, 20, 24, 32, 34, 40, 64, 80})
        for (int64_t passed : {1, 3, 4, 7, 8, 15, 16, 20, 33, 64, 67}) {
            SCOPED_TRACE(std::to_string(rotary_dim) + " of " + std::to_string(rotary_dim + passed) + " channels");
            const Tensor<float> x = normal({2, 2, 5, rotary_dim + passed}), y = run(x, options(5, rotary_dim));
            expect_right(x, options(5, rotary_dim));
            for (int64_t n = 0; n < 5; n++)
                for (int64_t d = rotary_dim; d < rotary_dim + passed; d++)
                    ASSERT_EQ(x(0, 1, n, d), y(0, 1, n, d));
            ASSERT_TRUE(rotary(x.view(), x.view(), options(5, rotary_dim)).ok());
            EXPECT_TRUE(same_bits(x, y)) << "in place";
        }
}

TEST_P(Rotary, PositionsUpToAMillion) {
    for (int64_t offset : {100, 4095, 65535, 131071, 999990, 1000000 - 33})
        expect_right(normal({1, 2, 33, 64}), options(offset));
    expect_right(normal({1, 1, 33, 128}), options(1000000 - 33, 0, 500000.0));
}

TEST_P(Rotary, NegativePositions) {
    for (int64_t offset : {-1, -20, -1000000})
        expect_right(normal({1, 2, 33, 64}), options(offset));
}

TEST_P(Rotary, Bases) {
    for (double base : {1.0, 2.0, 100.0, 1e6, 1e-2})
        expect_right(normal({1, 1, 17, 16}), options(3, 0, base));
}

TEST_P(Rotary, RanksAndLayouts) {
    expect_right(normal({9, 16}), options(2));
    expect_right(normal({3, 9, 16}), options(2));
    expect_right(normal({2, 3, 9, 16}, Layout::tokens_first(5)), options(2));
    expect_right(normal({1, 1, 9, 16}).broadcast({2, 3, 9, 16}), options(2));
}

TEST_P(Rotary, NothingToDo) {
    for (const Extents &extents : {Extents{0, 2, 9, 16}, {2, 0, 9, 16}, {0, 16}})
        EXPECT_TRUE(run(Tensor<float>(extents), options()).untouched());
}

/** Also where a row's last vector begins within the one before. */
TEST_P(Rotary, InPlace) {
    for (int64_t dim : {6, 16, 34, 62, 66, 80, 98, 126, 128}) {
        const Tensor<float> x = normal({2, 3, 9, dim}), y = run(x, options(7));
        const Status status = rotary(x.view(), x.view(), options(7));
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(same_bits(x, y)) << dim << " channels";
    }
}

TEST_P(Rotary, NaNShowsInItsPairAlone) {
    const Tensor<float> x = normal({1, 1, 9, 16});
    x(0, 0, 3, 5) = NAN, x(0, 0, 7, 0) = INFINITY;
    expect_right(x, options(1), 0.9);
}

/** Numbers of 16 bits turn as those of f32 that they are, and are rounded once: to half a unit in the last place. */
void expect_rounded(attune_type type, const Tensor<float> &numbers, const RotaryOptions &how) {
    const TypedTensor x(type, numbers), y(type, numbers.extent);
    const Tensor<float> exact(numbers.extent), turned(numbers.extent);
    const std::vector<double> values = x.values();
    std::copy(values.begin(), values.end(), exact.data());
    ASSERT_TRUE(rotary(exact.view(), turned.view(), how).ok());
    const Status status = rotary(TensorView(x.view()), TensorView(y.view()), how);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(agrees(y.values(), to_double(turned), {1e-6, type == ATTUNE_BF16 ? 0x1p15 : 0x1p12}));
    ASSERT_TRUE(rotary(TensorView(x.view()), TensorView(x.view()), how).ok());
    EXPECT_EQ(x.values(), y.values()); // in place
}

TEST(RotaryOfSixteenBits, IsThatOfF32Rounded) {
    Random random(1);
    for (auto [dim, rotary_dim] : {std::pair<int64_t, int64_t>{66, 62},
                                   {40, 0},
                                   {64, 0},
                                   {72, 0},
                                   {80, 0},
                                   {96, 0},
                                   {112, 0},
                                   {130, 128},
                                   {16, 0},
                                   {8, 0},
                                   {128, 32},
                                   {96, 24},
                                   {80, 20},
                                   {80, 64},
                                   {64, 16},
                                   {65, 8},
                                   {128, 64},
                                   {24, 6}}) {
        const Tensor<float> numbers({2, 3, 40, dim});
        random.fill_normal(numbers);
        for (attune_type type : {ATTUNE_BF16, ATTUNE_F16})
            for (attune_rotary_layout layout : {ATTUNE_ROTARY_HALF, ATTUNE_ROTARY_INTERLEAVED}) {
                SCOPED_TRACE(std::to_string(dim) + " channels, type " + std::to_string(type) + ", layout " + std::to_string(layout));
                RotaryOptions how;
                how.layout = layout, how.rotary_dim = rotary_dim, how.offset = 9;
                expect_rounded(type, numbers, how);
            }
    }
}

TEST(RotaryOfSixteenBits, NaNShowsInItsPairAlone) {
    for (attune_type type : {ATTUNE_BF16, ATTUNE_F16}) {
        const std::vector<uint16_t> nans = half_nans(type);
        const auto tokens = static_cast<int64_t>(nans.size()), dim = int64_t{128};
        const Tensor<float> numbers({1, 1, tokens, dim});
        numbers.each([](float &number) { number = 0.5f; });
        HalfTensor x(type, numbers), y(type, numbers);
        for (size_t token = 0; token < nans.size(); token++)
            x.bits[token * 128 + 7 * token] = nans[token];
        for (attune_rotary_layout layout : {ATTUNE_ROTARY_HALF, ATTUNE_ROTARY_INTERLEAVED}) {
            const auto pair = [&](size_t channel) { return layout == ATTUNE_ROTARY_HALF ? channel % 64 : channel / 2; };
            RotaryOptions how;
            how.layout = layout, how.offset = 5;
            ASSERT_TRUE(rotary(TensorView(x.view()), TensorView(y.view()), how).ok());
            const std::vector<double> got = y.values();
            for (size_t i = 0; i < got.size(); i++)
                EXPECT_EQ(std::isnan(got[i]), pair(i % 128) == pair(7 * (i / 128))) << i << ", layout " << layout;
        }
    }
}

/** Whatever a NaN's bits are: among the caller's cosines there is any. */
TEST(RotaryOfSixteenBits, NaNOfTheTableShowsInItsPairAlone) {
    for (int64_t dim : {16, 40, 128})
        for (attune_type type : {ATTUNE_BF16, ATTUNE_F16})
            for (attune_rotary_layout layout : {ATTUNE_ROTARY_HALF, ATTUNE_ROTARY_INTERLEAVED})
                for (uint32_t bits : {0x7fffffffu, 0xffffffffu, 0x7f800001u, 0xffff8000u}) {
                    const Tensor<float> numbers({1, 2, 3, dim}), cosines({3, dim / 2}), sines({3, dim / 2});
                    numbers.each([](float &number) { number = 0.5f; });
                    for (const Tensor<float> *rows : {&cosines, &sines})
                        rows->each([](float &number) { number = 0.25f; });
                    std::memcpy(&cosines(1, dim / 2 - 3), &bits, sizeof(bits));
                    const TypedTensor x(type, numbers), y(type, numbers.extent);
                    const TensorView cosine_rows = cosines.view(), sine_rows = sines.view();
                    RotaryOptions how;
                    how.layout = layout, how.cosines = &cosine_rows, how.sines = &sine_rows;
                    const Status status = rotary(TensorView(x.view()), TensorView(y.view()), how);
                    ASSERT_TRUE(status.ok()) << status.message;
                    const std::vector<double> got = y.values();
                    for (int64_t i = 0; i < int64_t(got.size()); i++) {
                        const int64_t token = i / dim % 3, channel = i % dim;
                        const int64_t pair = layout == ATTUNE_ROTARY_HALF ? channel % (dim / 2) : channel / 2;
                        EXPECT_EQ(std::isnan(got[size_t(i)]), token == 1 && pair == dim / 2 - 3) << i << " of " << dim;
                    }
                }
}

ATTUNE_FOR_EACH_KERNEL(Rotary, "rotary_half");
INSTANTIATE_TEST_SUITE_P(PrebuiltInterleaved, Rotary, ::testing::ValuesIn(kernels_of("rotary_interleaved")), kernel_name);

} // namespace
} // namespace attune::test::rotary_test
