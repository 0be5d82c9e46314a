// Pairs of bf16: conversion by bits, packing, the exponential that rounds to bf16, sums of products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bits.h"
#include "compare.h"
#include "dsl/numeric.h"
#include "dsl/products.h"
#include "elementwise.h"
#include "half.h"

namespace attune::test::products_test {
namespace {

/** Floats over all bit patterns, ties between numbers of bf16 among them. */
std::vector<float> all_magnitudes() {
    std::vector<float> values;
    for (uint64_t bits = 0; bits < 0x7f800000u; bits += 65521)
        for (uint32_t sign : {0u, 0x80000000u})
            for (uint32_t nearby : {0x7fffu, 0x8000u, 0x8001u})
                values.insert(values.end(), {from_bits(uint32_t(bits) | sign), from_bits((uint32_t(bits) & 0xffff0000u) | nearby | sign)});
    return values;
}

class Products : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Products, ::testing::ValuesIn(runnable_targets()), target_in_test_name);

TEST_P(Products, RoundToTheNearestOfBfloat16) {
    Elementwise round(GetParam(), [](const Halide::Expr &x) { return dsl::round_to_bfloat16(x); });
    Elementwise convert(GetParam(), [](const Halide::Expr &x) { return dsl::as_float(dsl::as_type(Halide::BFloat(16), x)); });
    dsl::Rounding without_blends;
    without_blends.blends = false;
    Elementwise shift(GetParam(),
                      [&](const Halide::Expr &x) { return dsl::as_float(dsl::as_type(Halide::BFloat(16), x, without_blends)); });
    dsl::Rounding by_masks;
    by_masks.masks = true;
    const auto masked = [&](const Halide::Expr &x) { return dsl::as_float(dsl::as_type(Halide::BFloat(16), x, by_masks)); };
    Elementwise mask(GetParam(), masked), wide(GetParam(), masked, 8); // of 32 lanes or more one permutation
    const std::vector<float> x = all_magnitudes(), rounded = round(x), converted = convert(x), shifted = shift(x), by_mask = mask(x);
    EXPECT_EQ(wide(x), by_mask);
    for (size_t i = 0; i < x.size(); i++) {
        ASSERT_EQ(rounded[i], round_to(ATTUNE_BF16, x[i])) << x[i];
        ASSERT_EQ(converted[i], rounded[i]) << x[i];
        ASSERT_EQ(shifted[i], rounded[i]) << x[i];
        ASSERT_EQ(by_mask[i], rounded[i]) << x[i];
    }
    const float largest = std::numeric_limits<float>::max();
    for (Elementwise *f : {&round, &convert, &shift, &mask, &wide})
        EXPECT_EQ((*f)({infinity, -infinity, largest, -largest}), (std::vector<float>{infinity, -infinity, infinity, -infinity}));
    std::vector<float> nans = all_kinds_of_nan();
    for (uint32_t bits : {0x7f800001u, 0xff800001u, 0x7f807fffu, 0x7f808000u, 0x7fbfffffu}) // signalling
        nans.push_back(from_bits(bits));
    for (const std::vector<float> &y : {round(nans), convert(nans), shift(nans), mask(nans), wide(nans)})
        EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float value) { return std::isnan(value); }));
}

/** Where every NaN comes from bf16 there is less to do. */
TEST_P(Products, RoundToBfloat16WhatHasNoOtherNaN) {
    const std::vector<float> x = all_magnitudes();
    for (bool masks : {false, true}) {
        dsl::Rounding rounding;
        rounding.masks = masks, rounding.makes_short_nan = true;
        const auto rounded = [&](const Halide::Expr &e) {
            return dsl::as_float(dsl::as_type(Halide::BFloat(16), e, rounding, dsl::NaN::of_type));
        };
        Elementwise narrow(GetParam(), rounded), wide(GetParam(), rounded, 8);
        for (Elementwise *f : {&narrow, &wide}) {
            const std::vector<float> y = (*f)(x);
            for (size_t i = 0; i < x.size(); i++)
                ASSERT_EQ(y[i], round_to(ATTUNE_BF16, x[i])) << x[i];
            const float largest = std::numeric_limits<float>::max();
            EXPECT_EQ((*f)({infinity, -infinity, largest, -largest}), (std::vector<float>{infinity, -infinity, infinity, -infinity}));
            for (uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fff0000u, 0xffff0000u, 0x7fc10000u, 0x7f810000u})
                EXPECT_TRUE(std::isnan((*f)({from_bits(bits)})[0])) << std::hex << bits;
        }
    }
    // Where arithmetic makes any NaN, it is seen to all the same.
    Elementwise careful(GetParam(),
                        [](const Halide::Expr &e) { return dsl::as_float(dsl::as_type(Halide::BFloat(16), e, {}, dsl::NaN::of_type)); });
    for (float y : careful(all_kinds_of_nan()))
        EXPECT_TRUE(std::isnan(y));
}

TEST_P(Products, PartsOfANumberAreOfBfloat16AndAddUpToIt) {
    std::vector<Elementwise> parts;
    for (int which = 0; which < 3; which++)
        parts.emplace_back(GetParam(), [=](const Halide::Expr &x) { return dsl::part_of_float(x, which); });
    std::vector<float> x = all_magnitudes();
    const float least = 1e-30f; // below, the last digits may be less than the least normal number
    x.erase(std::remove_if(x.begin(), x.end(), [=](float value) { return std::abs(value) < least || !std::isfinite(value); }), x.end());
    x.insert(x.end(), {0.0f, 1.0f, std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(), 1.0f + 1.0f / (1 << 23)});
    std::vector<std::vector<float>> of;
    for (Elementwise &part : parts)
        of.push_back(part(x));
    for (size_t i = 0; i < x.size(); i++) {
        ASSERT_EQ(double(of[0][i]) + double(of[1][i]) + double(of[2][i]), double(x[i]));
        for (const std::vector<float> &part : of)
            ASSERT_EQ(round_to(ATTUNE_BF16, part[i]), part[i]) << x[i];
        ASSERT_LT(std::abs(of[1][i]), std::abs(x[i]) * 0x1p-6f + least) << "no digit of the first";
        ASSERT_LE(std::abs(of[2][i]), std::abs(x[i]) * 0x1p-15f) << x[i];
    }
    EXPECT_EQ(parts[0]({infinity, -infinity}), (std::vector<float>{infinity, -infinity}));
    const std::vector<float> nans = all_kinds_of_nan(), first = parts[0](nans), second = parts[1](nans), third = parts[2](nans);
    for (size_t i = 0; i < nans.size(); i++)
        EXPECT_TRUE(std::isnan(first[i]) || std::isnan(second[i]) || std::isnan(third[i])) << i;
}

TEST_P(Products, KeepNanInHalfPrecision) {
    for (bool keeps_nan : {false, GetParam().has_feature(Halide::Target::F16C)}) {
        dsl::Rounding rounding;
        rounding.float16_keeps_nan = keeps_nan;
        Elementwise convert(GetParam(), [&](const Halide::Expr &x) { return dsl::as_float(dsl::as_type(Halide::Float(16), x, rounding)); });
        for (float y : convert(all_kinds_of_nan()))
            EXPECT_TRUE(std::isnan(y));
        for (float x : {0.0f, 1.0f, -65504.0f, 6e-8f, 1e-3f, infinity, 70000.0f})
            EXPECT_EQ(convert({x})[0], round_to(ATTUNE_F16, x)) << x;
    }
}

TEST_P(Products, UnpackWhatWasPackedAndAddBothProducts) {
    const dsl::Products without_add{true};
    const dsl::Products pairs{true, [&](const Halide::Expr &sum, const Halide::Expr &a, const Halide::Expr &b) {
                                  const auto product = [&](int which) {
                                      return without_add.unpack(a, which) * without_add.unpack(b, which);
                                  };
                                  return sum + product(0) + product(1);
                              }};
    auto pair = [&](const Halide::Expr &x) { return pairs.pack([&](int which) { return which == 0 ? x : 3 * x; }); };
    for (int which : {0, 1}) {
        Elementwise one(GetParam(), [&](const Halide::Expr &x) { return pairs.unpack(pair(x), which); });
        for (float x : {1.0f, -2.5f, 0.0f, infinity})
            EXPECT_EQ(one({x})[0], which == 0 ? x : 3 * x);
    }
    Elementwise sum(GetParam(), [&](const Halide::Expr &x) { return pairs.add(100.0f, pair(x), pair(x + 1)); });
    EXPECT_EQ(sum({2.0f})[0], 100 + 2 * 3 + 6 * 9);
}

/** Cut to its upper half it is the nearest number of bf16, give or take what the polynomial is off near a tie. */
TEST_P(Products, ExponentialRoundsToBfloat16) {
    Halide::Param<float> scale;
    Elementwise exp2(GetParam(), [&](const Halide::Expr &x) {
        return Halide::reinterpret<float>(Halide::reinterpret<uint32_t>(dsl::exp2_scaled_to_bfloat16(x, scale)) &
                                          Halide::Expr(0xffff0000u));
    });
    for (float s : {1.0f, 1.44269504f, 0.01f}) {
        scale.set(s);
        std::vector<float> x;
        for (uint32_t bits = 0x80000000u; bits < bits_of(-125.0f / s); bits += 8191)
            x.push_back(from_bits(bits));
        const std::vector<float> y = exp2(x);
        for (size_t i = 0; i < x.size(); i++) {
            const double exact = std::exp2(double(x[i]) * double(s));
            ASSERT_LE(std::abs(y[i] - exact), half_ulp(ATTUNE_BF16, exact) / 2 + std::ldexp(exact, -12)) << x[i];
        }
    }
    scale.set(1.0f);
    EXPECT_EQ(exp2({0.0f, -0.0f, -1.0f}), (std::vector<float>{1, 1, 0.5f}));
    for (float y : exp2({-127.0f, -150.0f, -1e30f, std::numeric_limits<float>::lowest(), -infinity}))
        EXPECT_EQ(bits_of(y), 0u);
    for (float y : exp2(all_kinds_of_nan()))
        EXPECT_TRUE(std::isnan(y));
}

} // namespace
} // namespace attune::test::products_test
