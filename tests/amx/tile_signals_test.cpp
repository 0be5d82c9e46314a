// Instructions that the CPU faults at, executed by the handler of the signal. This program never asks for permission to use tiles.
#include "tile_signals.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tile_emulator.h"

namespace attune::test {
namespace {

/** Adds up `terms` pairs of products of small integers that depend on `seed`, twice, for each of `rows` times `columns` elements. */
struct Product {
    int rows, terms, columns, seed;

    int a(int row, int element) const { return (3 * row + 5 * element + seed) % 7 - 3; }
    int b(int element, int column) const { return (2 * element + column + seed) % 5 - 2; }

    /** The word that holds a pair of bf16. */
    static uint32_t pair(int even, int odd) {
        const float numbers[2] = {float(even), float(odd)};
        uint32_t bits[2];
        std::memcpy(bits, numbers, sizeof(bits));
        return bits[0] >> 16 | (bits[1] & 0xffff0000);
    }

    std::vector<float> by_tiles(bool after_ud2 = false) const {
        std::vector<uint32_t> a_words(rows * terms), b_words(terms * columns);
        for (int k = 0; k < terms; ++k) {
            for (int row = 0; row < rows; ++row)
                a_words[row * terms + k] = pair(a(row, 2 * k), a(row, 2 * k + 1));
            for (int column = 0; column < columns; ++column)
                b_words[k * columns + column] = pair(b(2 * k, column), b(2 * k + 1, column));
        }
        TileConfiguration configuration;
        configuration.palette = 1;
        configuration.rows[3] = configuration.rows[4] = uint8_t(rows), configuration.rows[5] = uint8_t(terms);
        configuration.row_bytes[3] = configuration.row_bytes[5] = uint16_t(4 * columns), configuration.row_bytes[4] = uint16_t(4 * terms);
        std::vector<float> sums(rows * columns, -1);
#define MULTIPLY(before)                                                                                                                   \
    asm volatile(before "ldtilecfg %[configuration]\n" before "tilezero %%tmm3\n" before "tileloadd (%[a],%[a_row]), %%tmm4\n" before      \
                        "tileloaddt1 (%[b],%[b_row]), %%tmm5\n" before "tdpbf16ps %%tmm5, %%tmm4, %%tmm3\n" before                         \
                        "tdpbf16ps %%tmm5, %%tmm4, %%tmm3\n" before "tilestored %%tmm3, (%[sums],%[b_row])\n" before "tilerelease"         \
                 :                                                                                                                         \
                 : [configuration] "m"(configuration), [a] "r"(a_words.data()), [a_row] "r"(int64_t(4 * terms)), [b] "r"(b_words.data()),  \
                   [b_row] "r"(int64_t(4 * columns)), [sums] "r"(sums.data())                                                              \
                 : "memory")
        if (after_ud2)
            MULTIPLY("ud2\n");
        else
            MULTIPLY("");
#undef MULTIPLY
        return sums;
    }

    std::vector<float> by_loops() const {
        std::vector<float> sums(rows * columns);
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column)
                for (int element = 0; element < 2 * terms; ++element)
                    sums[row * columns + column] += 2.0f * a(row, element) * b(element, column);
        return sums;
    }
};

/** Emulates what comes after a ud2, as if the CPU had neither the instruction nor tiles. */
void emulate_after_ud2(int, siginfo_t *, void *context) {
    mcontext_t &machine = static_cast<ucontext_t *>(context)->uc_mcontext;
    auto *const saved = reinterpret_cast<uint8_t *>(machine.fpregs);
    constexpr int components_offset = 472; // of the kernel's, in struct _fpx_sw_bytes
    uint64_t components;
    std::memcpy(&components, saved + components_offset, sizeof(components));
    components &= ~(uint64_t(3) << 17);
    std::memcpy(saved + components_offset, &components, sizeof(components));
    machine.gregs[REG_RIP] += 2;
    if (!emulate_at(machine)) _exit(1);
}

/** While it exists, ud2 makes the next instruction an emulated one. */
class EmulatedAfterUd2 {
public:
    EmulatedAfterUd2() {
        struct sigaction action = {};
        action.sa_sigaction = emulate_after_ud2;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGILL, &action, &before);
    }
    ~EmulatedAfterUd2() { sigaction(SIGILL, &before, nullptr); }
    EmulatedAfterUd2(const EmulatedAfterUd2 &) = delete;
    EmulatedAfterUd2 &operator=(const EmulatedAfterUd2 &) = delete;

private:
    struct sigaction before;
};

class TileSignals : public ::testing::Test {
protected:
    void SetUp() override {
        __builtin_cpu_init();
        if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "the emulator needs AVX2 and FMA";
        setenv("EMULATE_TILES", "1", 1);
        ASSERT_TRUE(attune_emulates_tiles());
    }
};

TEST_F(TileSignals, MultiplyTiles) {
    for (const Product &product : {Product{16, 16, 16, 0}, {1, 1, 1, 1}, {5, 16, 3, 2}, {16, 2, 16, 3}, {16, 16, 16, 4}})
        EXPECT_EQ(product.by_tiles(), product.by_loops()) << product.seed;
}

TEST_F(TileSignals, MultiplyWithoutAnyTilesOfTheCpu) {
    const EmulatedAfterUd2 emulated;
    for (const Product &product : {Product{16, 16, 16, 0}, {7, 16, 3, 2}})
        EXPECT_EQ(product.by_tiles(true), product.by_loops()) << product.seed;
}

TEST_F(TileSignals, AreEachThreadsOwn) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&wrong, i] {
            for (int round = 0; round < 200; ++round) {
                const Product product = {16 - i, 16 - 3 * i, 4 + 4 * i, 10 * i + round};
                wrong[i] += product.by_tiles() != product.by_loops();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
}

/** Anything else faults as without the emulator. */
TEST_F(TileSignals, EndTheProgramAtOtherInstructions) {
    EXPECT_EXIT(asm volatile("ud2"), testing::KilledBySignal(SIGILL), "");
    EXPECT_EXIT(asm volatile("tilerelease\n tilezero %tmm0"), testing::KilledBySignal(SIGILL), "") << "there are no tiles";
}

#define FILL(n) "vpternlogd $0xff, %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n"
#define STORE(n) "vmovdqu64 %%zmm" #n ", 64*" #n "(%[registers])\n"
#define ALL(do)                                                                                                                            \
    do                                                                                                                                     \
    (0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11) do(12) do(13) do(14) do(15) do(16) do(17) do(18) do(19) do(    \
        20) do(21) do(22) do(23) do(24) do(25) do(26) do(27) do(28) do(29) do(30) do(31)

/** Of all vector registers 0, 15, 16 and 31 change, and their words come back. */
TEST_F(TileSignals, MoveWordsOfSavedRegisters) {
    if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "the CPU has no AVX-512";
    const EmulatedAfterUd2 emulated;
    uint8_t registers[32][64];
    uint64_t words[4] = {0x11111111abcd, 0x11111111cdef, 0x111111110123, 0x111111114567};
    // clang-format off
    asm volatile(ALL(FILL)
                 "ud2\n vmovw %k[a], %%xmm0\n"
                 "ud2\n vmovw %k[b], %%xmm15\n"
                 "ud2\n vmovw %k[c], %%xmm16\n"
                 "ud2\n vmovw %k[d], %%xmm31\n"
                 ALL(STORE)
                 "ud2\n vmovw %%xmm31, %k[a]\n"
                 "ud2\n vmovw %%xmm16, %k[b]\n"
                 "ud2\n vmovw %%xmm15, %k[c]\n"
                 "ud2\n vmovw %%xmm0, %k[d]\n"
                 "vzeroupper"
                 : [a] "+r"(words[0]), [b] "+r"(words[1]), [c] "+r"(words[2]), [d] "+r"(words[3])
                 : [registers] "r"(registers)
                 : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                   "xmm13", "xmm14", "xmm15"); // the others hold nothing in code without AVX-512
    // clang-format on
    for (int i = 0; i < 32; ++i) {
        uint8_t expected[64];
        std::memset(expected, 0xff, sizeof(expected));
        const int nth = i == 0 ? 0 : i == 15 ? 1 : i == 16 ? 2 : 3;
        const uint16_t moved[4] = {0xabcd, 0xcdef, 0x0123, 0x4567};
        if (i == 0 || i == 15 || i == 16 || i == 31) {
            std::memset(expected, 0, sizeof(expected));
            std::memcpy(expected, &moved[nth], sizeof(moved[nth]));
        }
        EXPECT_EQ(std::memcmp(registers[i], expected, sizeof(expected)), 0) << i;
    }
    EXPECT_EQ(words[0], 0x4567u);
    EXPECT_EQ(words[1], 0x0123u);
    EXPECT_EQ(words[2], 0xcdefu);
    EXPECT_EQ(words[3], 0xabcdu);
}

} // namespace
} // namespace attune::test
