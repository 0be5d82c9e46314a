// Integer arithmetic and bits against C++.
#include "kernel.h"

namespace attune::test {

using Integer = EmulatorTest;
static const std::vector<uint32_t> a32 = {0, 1, 7, 0x80000000, 0x7fffffff, 0xffffffff, 0x12345678, 100},
                                   b32 = {3, 0xffffffff, 2, 0xffffffff, 5, 1, 0x9abcdef0, 7}, c32 = {1, 2, 3, 4, 5, 6, 7, 8};
static const std::vector<uint64_t> a64 = {0, 5, 0x8000000000000000, 0xffffffffffffffff, 0x123456789abcdef0},
                                   b64 = {3, 2, 7, 2, 0xfedcba9876543210};

template <class F> static void expect_words(const std::vector<uint32_t> &got, F expected) {
    for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i], expected(a32[i], b32[i], c32[i])) << "case " << i;
}
template <class F> static void expect_doubles(const std::vector<uint64_t> &got, F expected) {
    for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i], expected(a64[i], b64[i])) << "case " << i;
}
using U = uint32_t;
using S = int32_t;

TEST_F(Integer, AddsSubtractsAndMultiplies) {
    expect_words(words("add.s32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return a + b; });
    expect_words(words("sub.s32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return a - b; });
    expect_words(words("mul.lo.s32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return a * b; });
    expect_words(words("mul.hi.u32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return U(uint64_t(a) * b >> 32); });
    expect_words(words("mul.hi.s32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return U(int64_t(S(a)) * S(b) >> 32); });
    expect_words(words("mad.lo.s32 %r10, %r1, %r2, %r3;", a32, b32, c32), [](U a, U b, U c) { return a * b + c; });
    expect_words(words("sad.u32 %r10, %r1, %r2, %r3;", a32, b32, c32), [](U a, U b, U c) { return c + (a < b ? b - a : a - b); });
    expect_words(
        words("mul.wide.s32 %d5, %r1, %r2; cvt.u32.u64 %r4, %d5; shr.u64 %d5, %d5, 32; cvt.u32.u64 %r10, %d5; xor.b32 %r10, %r10, %r4;",
              a32, b32),
        [](U a, U b, U) {
            const auto p = uint64_t(int64_t(S(a)) * S(b));
            return U(p >> 32) ^ U(p);
        });
}

TEST_F(Integer, DividesAndCompares) {
    expect_words(words("div.s32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return b == ~0u ? 0 - a : U(S(a) / S(b)); });
    expect_words(words("div.u32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return a / b; });
    expect_words(words("rem.u32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return a % b; });
    expect_words(words("min.s32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return U(std::min(S(a), S(b))); });
    expect_words(words("max.u32 %r10, %r1, %r2;", a32, b32), [](U a, U b, U) { return std::max(a, b); });
    expect_words(words("abs.s32 %r10, %r1;", a32), [](U a, U, U) { return S(a) < 0 ? 0 - a : a; });
    expect_words(words("neg.s32 %r10, %r1;", a32), [](U a, U, U) { return 0 - a; });
}

TEST_F(Integer, Has64Bits) {
    expect_doubles(doubles("add.s64 %d10, %d11, %d12;", a64, b64), [](uint64_t a, uint64_t b) { return a + b; });
    expect_doubles(doubles("mul.lo.s64 %d10, %d11, %d12;", a64, b64), [](uint64_t a, uint64_t b) { return a * b; });
    expect_doubles(doubles("mul.hi.u64 %d10, %d11, %d12;", a64, b64),
                   [](uint64_t a, uint64_t b) { return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64); });
    expect_doubles(doubles("shr.s64 %d10, %d11, 9;", a64, b64), [](uint64_t a, uint64_t) { return uint64_t(int64_t(a) >> 9); });
    expect_doubles(doubles("not.b64 %d10, %d11;", a64, b64), [](uint64_t a, uint64_t) { return ~a; });
}

TEST_F(Integer, CarriesAndShortOnes) {
    expect_words(words("add.cc.u32 %r4, %r1, %r2; addc.u32 %r10, %r3, 0;", a32, b32, c32),
                 [](U a, U b, U c) { return c + (a + b < a ? 1 : 0); });
    expect_words(words("sub.cc.u32 %r4, %r1, %r2; subc.u32 %r10, %r3, 0;", a32, b32, c32),
                 [](U a, U b, U c) { return c - (a < b ? 1 : 0); });
    expect_words(words("cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; mul.lo.s16 %h3, %h1, %h2; cvt.s32.s16 %r10, %h3;", a32, b32),
                 [](U a, U b, U) { return U(int16_t(U(uint16_t(a)) * uint16_t(b))); });
    expect_words(words("cvt.u16.u32 %h1, %r1; shr.s16 %h3, %h1, 3; cvt.u32.u16 %r10, %h3;", a32),
                 [](U a, U, U) { return U(uint16_t(int16_t(a) >> 3)); });
}

TEST_F(Integer, ShiftsPastTheWidth) {
    const std::vector<uint32_t> value(5, 0x80000001), count = {0, 1, 31, 32, 200};
    EXPECT_EQ(words("shl.b32 %r10, %r1, %r2;", value, count), (std::vector<uint32_t>{0x80000001, 2, 0x80000000, 0, 0}));
    EXPECT_EQ(words("shr.u32 %r10, %r1, %r2;", value, count), (std::vector<uint32_t>{0x80000001, 0x40000000, 1, 0, 0}));
    EXPECT_EQ(words("shr.s32 %r10, %r1, %r2;", value, count), (std::vector<uint32_t>{0x80000001, 0xc0000000, ~0u, ~0u, ~0u}));
    EXPECT_EQ(words("shf.l.wrap.b32 %r10, %r1, %r1, 4;", {0x12345678}), (std::vector<uint32_t>{0x23456781}));
    EXPECT_EQ(words("shf.r.clamp.b32 %r10, %r1, %r2, 40;", {0x12345678}, {0x9abcdef0}), (std::vector<uint32_t>{0x9abcdef0}));
}

TEST_F(Integer, MovesBits) {
    expect_words(words("and.b32 %r4, %r1, %r2; or.b32 %r5, %r4, %r3; xor.b32 %r10, %r5, %r1;", a32, b32, c32),
                 [](U a, U b, U c) { return ((a & b) | c) ^ a; });
    expect_words(words("lop3.b32 %r10, %r1, %r2, %r3, 0x96;", a32, b32, c32), [](U a, U b, U c) { return a ^ b ^ c; });
    expect_words(words("lop3.b32 %r10, %r1, %r2, %r3, 0xca;", a32, b32, c32), [](U a, U b, U c) { return (a & b) | (~a & c); });
    expect_words(words("bfe.u32 %r10, %r1, 4, 9;", a32), [](U a, U, U) { return a >> 4 & 511; });
    expect_words(words("bfe.s32 %r10, %r1, 4, 9;", a32), [](U a, U, U) { return U(S(a << 19) >> 23); });
    expect_words(words("bfe.s32 %r10, %r1, 24, 20;", a32), [](U a, U, U) { return U(S(a) >> 24); });
    expect_words(words("bfi.b32 %r10, %r1, %r2, 8, 12;", a32, b32), [](U a, U b, U) { return (b & ~0xfff00u) | (a & 0xfff) << 8; });
    expect_words(words("popc.b32 %r10, %r1;", a32), [](U a, U, U) { return U(__builtin_popcount(a)); });
    expect_words(words("clz.b32 %r10, %r1;", a32), [](U a, U, U) { return a == 0 ? 32 : U(__builtin_clz(a)); });
    expect_words(words("bfind.u32 %r10, %r1;", a32), [](U a, U, U) { return a == 0 ? ~0u : 31 - U(__builtin_clz(a)); });
    EXPECT_EQ(words("brev.b32 %r10, %r1;", {1, 0x12345678}), (std::vector<uint32_t>{0x80000000, 0x1e6a2c48}));
    EXPECT_EQ(words("prmt.b32 %r10, %r1, %r2, 0x7531;", {0x33221100}, {0x77665544}), (std::vector<uint32_t>{0x77553311}));
    EXPECT_EQ(words("prmt.b32 %r10, %r1, %r2, 0x80b0;", {0x83221180}, {0}), (std::vector<uint32_t>{0xff80ff80}));
}

TEST_F(Integer, PacksAndUnpacks) {
    EXPECT_EQ(words("mov.b32 {%h1, %h2}, %r1; mov.b32 %r10, {%h2, %h1};", {0x12345678}), (std::vector<uint32_t>{0x56781234}));
    EXPECT_EQ(doubles("mov.b64 {%r1, %r2}, %d11; mov.b64 %d10, {%r2, %r1};", {0x1122334455667788}),
              (std::vector<uint64_t>{0x5566778811223344}));
    EXPECT_EQ(doubles("mov.b64 {_, %r2}, %d11; mov.b64 %d10, {%r2, 7};", {0x1122334455667788}), (std::vector<uint64_t>{0x711223344}));
}

} // namespace attune::test
