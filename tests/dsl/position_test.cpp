// The declarations of rotary embedding and the sinusoidal table against long double.
#include "dsl/position.h"

#include "compare.h"
#include "jit_attention.h"
#include "position_oracle.h"
#include "random.h"

namespace attune::test {
namespace {

class Rotary : public SeededTestWithParam<RotaryLayout> {
protected:
    Rotary() {
        const auto layout = GetParam() == RotaryLayout::half ? dsl::RotaryLayout::half : dsl::RotaryLayout::interleaved;
        output = dsl::rotary(x, layout, rotary_dim, base, offset).output;
        compute_all_at_root(Halide::Pipeline(output));
        output.compile_jit();
    }

    void expect_close(int64_t dim, int64_t turned, double the_base, int64_t first) {
        const Tensor<float> in({2, 3, 5, dim}), out({2, 3, 5, dim});
        random.fill_normal(in);
        x.set(buffer_of(in)), rotary_dim.set(int(turned)), base.set(the_base), offset.set(int(first));
        Halide::Buffer<float> result = buffer_of(out);
        output.realize(result);
        // Angles are right to 2e-7, and pairs of unit-normal numbers seldom exceed 6.
        EXPECT_TRUE(agrees(to_double(out), rotary_in_long_double(in, the_base, GetParam(), turned, first), {3e-6, 1, 0}, 1))
            << dim << " channels, " << turned << " turned, base " << the_base << ", offset " << first;
        for (int64_t channel = turned; channel < dim; channel++)
            ASSERT_EQ(out(1, 2, 4, channel), in(1, 2, 4, channel)) << "channels past the turned ones pass untouched";
    }

    Halide::ImageParam x{Halide::Float(32), 4, "x"};
    Halide::Param<int32_t> rotary_dim, offset;
    Halide::Param<double> base;
    Halide::Func output;
};

std::string name(const ::testing::TestParamInfo<RotaryLayout> &info) { return info.param == RotaryLayout::half ? "half" : "interleaved"; }
INSTANTIATE_TEST_SUITE_P(Layouts, Rotary, ::testing::Values(RotaryLayout::half, RotaryLayout::interleaved), name);

TEST_P(Rotary, TurnsEveryPair) {
    for (int64_t dim : {2, 6, 16, 64})
        expect_close(dim, dim, 10000, 0);
}

TEST_P(Rotary, PassesChannelsPastItsWidth) {
    expect_close(16, 4, 10000, 3);
    expect_close(7, 6, 10000, 3);
    expect_close(5, 2, 10000, 3);
}

TEST_P(Rotary, IsAsGoodAtPositionOneMillion) {
    expect_close(64, 64, 10000, 1000000);
    expect_close(64, 64, 500000, 1000000);
    expect_close(8, 8, 10000, -7);
}

TEST(Sinusoidal, AgreesWithLongDouble) {
    Halide::Param<int32_t> width, offset;
    Halide::Param<double> base;
    Halide::Func table = dsl::sinusoidal(width, base, offset).table;
    compute_all_at_root(Halide::Pipeline(table));
    for (int64_t dim : {1, 2, 5, 64})
        for (int64_t first : {0, 1000, 1000000}) {
            const Tensor<float> out({9, dim});
            width.set(int(dim)), offset.set(int(first)), base.set(10000);
            Halide::Buffer<float> result = buffer_of(out);
            table.realize(result);
            EXPECT_TRUE(agrees(to_double(out), sinusoidal_in_long_double(9, dim, 10000, first), {3e-7, 0, 0}, 1))
                << dim << " channels from " << first;
        }
}

} // namespace
} // namespace attune::test
