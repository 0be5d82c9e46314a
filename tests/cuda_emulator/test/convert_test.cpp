// Conversions.
#include "kernel.h"

#include <cmath>

namespace attune::test {

using Convert = EmulatorTest;
static const std::vector<float> numbers = {0.5f, 1.5f, -1.5f, 2.5f, 3e9f, -3e9f, NAN, -0.3f};

static std::vector<uint32_t> number_bits() {
    std::vector<uint32_t> bits;
    for (const float x : numbers)
        bits.push_back(bits_of(x));
    return bits;
}

TEST_F(Convert, FloatsToIntegersClamp) {
    const auto bits = number_bits();
    EXPECT_EQ(words("cvt.rni.s32.f32 %r10, %r1;", bits), (std::vector<uint32_t>{0, 2, ~1u, 2, 0x7fffffff, 0x80000000, 0, 0}));
    EXPECT_EQ(words("cvt.rzi.u32.f32 %r10, %r1;", bits), (std::vector<uint32_t>{0, 1, 0, 2, 3000000000u, 0, 0, 0}));
    EXPECT_EQ(words("cvt.rmi.s32.f32 %r10, %r1;", bits), (std::vector<uint32_t>{0, 1, ~1u, 2, 0x7fffffff, 0x80000000, 0, ~0u}));
    EXPECT_EQ(words("cvt.rpi.s32.f32 %r10, %r1;", bits), (std::vector<uint32_t>{1, 2, ~0u, 3, 0x7fffffff, 0x80000000, 0, 0}));
}

TEST_F(Convert, FloatsToWholeFloats) {
    const auto whole = floats("cvt.rni.f32.f32 %r10, %r1;", numbers);
    EXPECT_EQ(whole[0], 0);
    EXPECT_EQ(whole[1], 2);
    EXPECT_EQ(whole[3], 2);
    EXPECT_EQ(floats("cvt.rmi.f32.f32 %r10, %r1;", numbers)[2], -2);
    EXPECT_EQ(floats("cvt.sat.f32.f32 %r10, %r1;", numbers)[4], 1);
}

TEST_F(Convert, IntegersToFloats) {
    EXPECT_EQ(words("cvt.rn.f32.s32 %r10, %r1;", {7, 0xffffffff}), (std::vector<uint32_t>{bits_of(7.f), bits_of(-1.f)}));
    EXPECT_EQ(words("cvt.rn.f32.u32 %r10, %r1;", {0xffffffff, 16777217}),
              (std::vector<uint32_t>{bits_of(4294967296.f), bits_of(16777216.f)}));
    EXPECT_EQ(words("cvt.rp.f32.u32 %r10, %r1;", {16777217}), (std::vector<uint32_t>{bits_of(16777218.f)}));
    EXPECT_EQ(words("cvt.rn.f64.s32 %d5, %r1; cvt.rn.f32.f64 %r10, %d5;", {0xffffff85}), (std::vector<uint32_t>{bits_of(-123.f)}));
}

TEST_F(Convert, IntegersToIntegers) {
    EXPECT_EQ(words("cvt.s64.s32 %d5, %r1; shr.u64 %d5, %d5, 32; cvt.u32.u64 %r10, %d5;", {5, 0x80000000}),
              (std::vector<uint32_t>{0, ~0u}));
    EXPECT_EQ(words("cvt.u64.u32 %d5, %r1; shr.u64 %d5, %d5, 32; cvt.u32.u64 %r10, %d5;", {5, 0x80000000}), (std::vector<uint32_t>{0, 0}));
    EXPECT_EQ(words("cvt.s8.s32 %r10, %r1;", {0x1ff, 0x17f}), (std::vector<uint32_t>{~0u, 0x7f}));
    EXPECT_EQ(words("cvt.u8.u32 %r10, %r1;", {0x1ff}), (std::vector<uint32_t>{0xff}));
    EXPECT_EQ(words("cvt.sat.s8.s32 %r10, %r1;", {0x1ff, 0xffffff00, 5}), (std::vector<uint32_t>{127, 0xffffff80, 5}));
}

TEST_F(Convert, SixteenBitFloats) {
    const std::string round_trip = "cvt.rn.f16.f32 %h1, %r1; cvt.f32.f16 %r10, %h1;";
    EXPECT_EQ(floats(round_trip, {1.f, 65520.f, 1e-8f, 0.1f}), (std::vector<float>{1.f, INFINITY, 0.f, 0.0999755859375f}));
    EXPECT_EQ(floats("cvt.rn.bf16.f32 %h1, %r1; cvt.f32.bf16 %r10, %h1;", {1.f, 1.00390625f, 1.01171875f}),
              (std::vector<float>{1.f, 1.f, 1.015625f}));
    EXPECT_EQ(words("cvt.rn.bf16x2.f32 %r10, %r1, %r2;", {bits_of(2.f)}, {bits_of(-1.f)}), (std::vector<uint32_t>{0x4000bf80}));
    EXPECT_EQ(words("cvt.rn.f16x2.f32 %r10, %r1, %r2;", {bits_of(2.f)}, {bits_of(-1.f)}), (std::vector<uint32_t>{0x4000bc00}));
    EXPECT_EQ(words("cvt.rn.relu.bf16x2.f32 %r10, %r1, %r2;", {bits_of(2.f)}, {bits_of(-1.f)}), (std::vector<uint32_t>{0x40000000}));
}

TEST_F(Convert, RefusesWhatItDoesNotKnow) {
    refuses("cvt.f32.s32 %d10, %r1;", 218, "width");
    refuses("cvt.rn.e4m3x2.f32 %h1, %r1, %r2;", 218, "a type is missing");
    refuses("cvt.s32.f32 %r10, %r1;", 218, "a rounding to integers is missing");
}

} // namespace attune::test
