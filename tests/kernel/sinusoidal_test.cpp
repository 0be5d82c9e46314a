// The sinusoidal table: every kernel, against angles in long double.
#include "attune/attune.hpp"
#include "compare.h"
#include "half.h"
#include "kernels.h"
#include "position_oracle.h"
#include "random.h"

namespace attune::test::sinusoidal_test {
namespace {

constexpr Tolerance angle_error{1e-5, 1, 1}; // radians, at positions up to 1,000,000

class Sinusoidal : public SeededTestWithParam<const attune_kernel *> {
protected:
    void expect_right(int64_t tokens, int64_t dim, int64_t offset = 0, double base = 10000) const {
        const Tensor<float> y({tokens, dim}, {{}, 3});
        const Status status = sinusoidal(y.view(), {base, offset, GetParam()->schedule});
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(agrees(to_double(y), sinusoidal_in_long_double(tokens, dim, base, offset), angle_error))
            << tokens << " tokens, dim " << dim << ", offset " << offset << ", base " << base;
        EXPECT_TRUE(y.canaries_intact());
    }
};

TEST_P(Sinusoidal, AwkwardWidths) {
    for (int64_t dim : {1, 2, 3, 7, 8, 15, 16, 17, 33, 64, 65, 80, 512})
        for (int64_t tokens : {1, 5, 33})
            expect_right(tokens, dim);
}

TEST_P(Sinusoidal, Offsets) {
    for (int64_t offset : {-1000000, -3, 17, 65535, 1000000 - 20})
        expect_right(20, 64, offset);
}

TEST_P(Sinusoidal, Bases) {
    for (double base : {1.0, 2.0, 500000.0})
        expect_right(20, 33, 5, base);
}

TEST_P(Sinusoidal, NothingToDo) {
    for (const Extents &extents : {Extents{0, 8}, {5, 0}}) {
        const Tensor<float> y(extents);
        EXPECT_TRUE(sinusoidal(y.view(), {10000.0, 0, GetParam()->schedule}).ok());
        EXPECT_TRUE(y.untouched());
    }
}

/** Each number is the f32 table's, rounded once: to the bit. What lies between rows isn't touched. */
TEST(SinusoidalOfSixteenBits, IsThatOfF32Rounded) {
    constexpr int64_t tokens = 20, gap = 3;
    for (attune_type type : {ATTUNE_BF16, ATTUNE_F16})
        for (int64_t dim : {1, 2, 7, 8, 16, 33, 65, 512})
            for (int64_t offset : {-1000000, -3, 0, 65535, 1000000 - 20}) {
                SCOPED_TRACE(std::to_string(dim) + " channels from " + std::to_string(offset));
                const Tensor<float> exact({tokens, dim});
                ASSERT_TRUE(sinusoidal(exact.view(), {10000, offset, ""}).ok());
                const HalfTensor y(type, Tensor<float>({tokens, dim + gap}));
                std::vector<uint16_t> expected = y.bits;
                for (int64_t row = 0; row < tokens; row++)
                    for (int64_t d = 0; d < dim; d++)
                        expected[static_cast<size_t>(row * (dim + gap) + d)] = half_bits(type, exact(row, d));
                TensorView view(y.view());
                view.extent[1] = dim;
                const Status status = sinusoidal(view, {10000, offset, ""});
                ASSERT_TRUE(status.ok()) << status.message;
                ASSERT_EQ(y.bits, expected);
            }
}

TEST(SinusoidalOfSixteenBits, NothingToDo) {
    for (const Extents &extents : {Extents{0, 8}, {5, 0}}) {
        const HalfTensor y(ATTUNE_F16, Tensor<float>(extents));
        EXPECT_TRUE(sinusoidal(TensorView(y.view())).ok());
    }
}

ATTUNE_FOR_EACH_KERNEL(Sinusoidal, "sinusoidal");

} // namespace
} // namespace attune::test::sinusoidal_test
