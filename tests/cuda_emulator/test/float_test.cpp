// Floating-point arithmetic, of 16, 32 and 64 bits.
#include "kernel.h"

#include <cmath>

namespace attune::test {

using Float = EmulatorTest;
static const std::vector<float> a = {1.5f, -2.25f, 1e30f, 1e-42f, INFINITY, NAN, 0.f, 3.1415926f},
                                b = {2.f, 0.1f, 1e30f, 1.f, -INFINITY, 1.f, -0.f, -7.f},
                                c = {0.5f, 1.f, -1.f, 1e-43f, 1.f, 2.f, 0.f, 1e-7f};

template <class F> static void expect_floats(const std::vector<float> &got, F expected, float tolerance = 0) {
    for (size_t i = 0; i < got.size(); ++i) {
        const float want = expected(a[i], b[i], c[i]);
        if (std::isnan(want)) {
            EXPECT_TRUE(std::isnan(got[i])) << "case " << i << ": " << got[i];
        } else if (std::isinf(want) || tolerance == 0) {
            EXPECT_EQ(bits_of(got[i]), bits_of(want)) << "case " << i << ": " << got[i] << " is not " << want;
        } else {
            EXPECT_NEAR(got[i], want, std::fabs(want) * tolerance + 1e-45f) << "case " << i;
        }
    }
}

static float flushed(float x) { return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.f, x) : x; }

TEST_F(Float, RoundsOnce) {
    expect_floats(floats("add.rn.f32 %r10, %r1, %r2;", a, b), [](float x, float y, float) { return x + y; });
    expect_floats(floats("sub.f32 %r10, %r1, %r2;", a, b), [](float x, float y, float) { return x - y; });
    expect_floats(floats("mul.f32 %r10, %r1, %r2;", a, b), [](float x, float y, float) { return x * y; });
    expect_floats(floats("fma.rn.f32 %r10, %r1, %r2, %r3;", a, b, c), [](float x, float y, float z) { return std::fma(x, y, z); });
    expect_floats(floats("mul.rn.f32 %r4, %r1, %r2; add.rn.f32 %r10, %r4, %r3;", a, b, c), [](float x, float y, float z) {
        volatile float product = x * y;
        return product + z;
    });
    expect_floats(floats("div.rn.f32 %r10, %r1, %r3;", a, b, c), [](float x, float, float z) { return x / z; });
    expect_floats(floats("sqrt.rn.f32 %r10, %r1;", a), [](float x, float, float) { return std::sqrt(x); });
    expect_floats(floats("neg.f32 %r10, %r1;", a), [](float x, float, float) { return -x; });
}

TEST_F(Float, FlushesAndSaturates) {
    expect_floats(floats("mul.ftz.f32 %r10, %r1, 0f3F000000;", a), [](float x, float, float) { return flushed(x) * 0.5f; });
    expect_floats(floats("add.sat.f32 %r10, %r1, 0f00000000;", a), [](float x, float, float) { return x > 0 ? std::min(x, 1.f) : 0.f; });
}

TEST_F(Float, MinimumAndMaximumKnowNaN) {
    const std::vector<float> x = {1, NAN, 1, NAN, -0.f, 0.f}, y = {2, 1, NAN, NAN, 0.f, -0.f};
    const auto low = floats("min.f32 %r10, %r1, %r2;", x, y), high = floats("max.f32 %r10, %r1, %r2;", x, y);
    EXPECT_EQ(low[0], 1);
    EXPECT_EQ(high[0], 2);
    EXPECT_EQ(high[1], 1);
    EXPECT_EQ(low[2], 1);
    EXPECT_TRUE(std::isnan(high[3]));
    EXPECT_TRUE(std::signbit(low[4]) && std::signbit(low[5]) && !std::signbit(high[4]) && !std::signbit(high[5]));
    const auto strict = floats("max.NaN.f32 %r10, %r1, %r2;", x, y);
    EXPECT_TRUE(std::isnan(strict[1]) && std::isnan(strict[2]) && strict[0] == 2);
}

TEST_F(Float, ApproximatesFunctions) {
    expect_floats(
        floats("ex2.approx.ftz.f32 %r10, %r1;", a), [](float x, float, float) { return std::exp2(flushed(x)); }, 3e-7f);
    expect_floats(
        floats("lg2.approx.f32 %r10, %r1;", a), [](float x, float, float) { return std::log2(x); }, 3e-7f);
    expect_floats(
        floats("rcp.approx.ftz.f32 %r10, %r1;", a), [](float x, float, float) { return 1 / flushed(x); }, 3e-7f);
    expect_floats(
        floats("rsqrt.approx.f32 %r10, %r1;", a), [](float x, float, float) { return 1 / std::sqrt(x); }, 3e-7f);
    expect_floats(
        floats("sin.approx.f32 %r10, %r2;", a, c), [](float, float, float z) { return std::sin(z); }, 3e-6f);
    expect_floats(
        floats("cos.approx.f32 %r10, %r2;", a, c), [](float, float, float z) { return std::cos(z); }, 3e-6f);
    expect_floats(
        floats("tanh.approx.f32 %r10, %r1;", a), [](float x, float, float) { return std::tanh(x); }, 3e-7f);
}

TEST_F(Float, ExponentialHoldsOverItsRange) {
    std::vector<float> x;
    for (int i = 0; i < 1000; ++i)
        x.push_back(-152.f + 0.2801f * static_cast<float>(i));
    const auto got = floats("ex2.approx.f32 %r10, %r1;", x);
    for (size_t i = 0; i < x.size(); ++i) {
        const double want = std::exp2(static_cast<double>(x[i]));
        if (want > 3.4028235e38) {
            EXPECT_EQ(got[i], INFINITY) << x[i];
        } else {
            EXPECT_NEAR(got[i], want, want * 3e-7 + 1.5e-45) << x[i];
        }
    }
}

TEST_F(Float, ComparesAndTests) {
    const std::vector<float> x = {1, 2, NAN}, y = {2, 2, 1};
    EXPECT_EQ(floats("setp.lt.f32 %p1, %r1, %r2; selp.f32 %r10, 0f3F800000, 0f00000000, %p1;", x, y), (std::vector<float>{1, 0, 0}));
    EXPECT_EQ(floats("setp.geu.f32 %p1, %r1, %r2; selp.f32 %r10, 0f3F800000, 0f00000000, %p1;", x, y), (std::vector<float>{0, 1, 1}));
    EXPECT_EQ(floats("setp.nan.f32 %p1, %r1, %r2; selp.f32 %r10, 0f3F800000, 0f00000000, %p1;", x, y), (std::vector<float>{0, 0, 1}));
    EXPECT_EQ(floats("set.ne.f32.f32 %r10, %r1, %r2;", x, y), (std::vector<float>{1, 0, 0}));
    EXPECT_EQ(floats("testp.notanumber.f32 %p1, %r1; selp.f32 %r10, 0f3F800000, 0f00000000, %p1;", x, y), (std::vector<float>{0, 0, 1}));
    EXPECT_EQ(floats("copysign.f32 %r10, %r2, %r1;", {1, -3}, {-2, 2}), (std::vector<float>{-1, 3}));
    EXPECT_EQ(floats("slct.f32.f32 %r10, %r1, %r2, %r3;", {1, 1}, {2, 2}, {0, -1}), (std::vector<float>{1, 2}));
}

TEST_F(Float, HasDoubles) {
    const std::vector<uint64_t> x = {bits_of(1.5), bits_of(-1e300)}, y = {bits_of(3.25), bits_of(1e-10)}, z = {bits_of(0.1), bits_of(2.)};
    EXPECT_EQ(doubles("fma.rn.f64 %d10, %d11, %d12, %d13;", x, y, z),
              (std::vector<uint64_t>{bits_of(std::fma(1.5, 3.25, .1)), bits_of(std::fma(-1e300, 1e-10, 2.))}));
    EXPECT_EQ(doubles("div.rn.f64 %d10, %d11, %d12;", x, y), (std::vector<uint64_t>{bits_of(1.5 / 3.25), bits_of(-1e300 / 1e-10)}));
    EXPECT_EQ(doubles("add.f64 %d10, %d11, 0d3FF0000000000000;", x), (std::vector<uint64_t>{bits_of(2.5), bits_of(-1e300)}));
}

TEST_F(Float, HasPairsOfHalves) {
    // f16: 0x3c00 1, 0x4000 2, 0x4200 3, 0xc000 -2
    EXPECT_EQ(words("add.f16x2 %r10, %r1, %r2;", {0x40003c00}, {0x42004000}), (std::vector<uint32_t>{0x45004200}));
    EXPECT_EQ(words("fma.rn.f16x2 %r10, %r1, %r2, %r1;", {0xc0003c00}, {0x42004000}), (std::vector<uint32_t>{0xc8004200}));
    EXPECT_EQ(words("max.f16x2 %r10, %r1, %r2;", {0xc0003c00}, {0x42007e00}), (std::vector<uint32_t>{0x42003c00}));
    EXPECT_EQ(words("fma.rn.bf16x2 %r10, %r1, %r2, %r1;", {brain_bits(-2) << 16 | brain_bits(1)}, {brain_bits(3) << 16 | brain_bits(2)}),
              (std::vector<uint32_t>{brain_bits(-8) << 16 | brain_bits(3)}));
    EXPECT_EQ(words("cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; mul.f16 %h3, %h1, %h2; cvt.u32.u16 %r10, %h3;", {0x4200}, {0x4200}),
              (std::vector<uint32_t>{0x4880})); // 9
}

} // namespace attune::test
