// The emulated instructions against what the manual says of them, and against the CPU where it has them.
#include "tile_emulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <cpuid.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// An instruction's bytes, which call_on_cpu() can also call.
#define CODE(name, instruction)                                                                                                            \
    extern "C" const uint8_t name[], name##_end[];                                                                                         \
    asm(".pushsection .text\n" #name ":\n" instruction "\n" #name "_end:\n ret\n .popsection")
#define CODE_OF(name) name, int(name##_end - name)

CODE(load_0, "tileloadd (%rax,%rcx), %tmm0");
CODE(load_1, "tileloadd 0x40(%rdx,%rbx,2), %tmm1");
CODE(load_2, "tileloadd -0x80(%rsi,%rdi,4), %tmm2");
CODE(load_3, "tileloadd 0x12340(%r8,%r9,8), %tmm3");
CODE(load_4, "tileloadd -0x12340(%r10,%r11), %tmm4");
CODE(load_5, "tileloaddt1 (%r12,%r13,2), %tmm5");
CODE(load_6, "tileloadd (%r13,%r12,4), %tmm6");
CODE(load_7, "tileloaddt1 0x10(%rbp,%r14,8), %tmm7");
CODE(load_without_index, "tileloadd 0x8(%r15), %tmm3");
CODE(load_without_base, "tileloadd 0x12341000(,%rcx,4), %tmm5");
CODE(load_from_stack, "tileloadd 0x8(%rsp,%rbp), %tmm2");
CODE(store_0, "tilestored %tmm0, 0x12340(%rbp,%rax,2)");
CODE(store_1, "tilestored %tmm1, (%r14,%r15)");
CODE(store_7, "tilestored %tmm7, -0x10(%rbx,%r10,8)");
CODE(configure, "ldtilecfg 0x40(%r9,%rdx,2)");
CODE(store_configuration, "sttilecfg -0x40(%rsi)");
CODE(store_configuration_far, "sttilecfg 0x12340(%r13)");
CODE(release, "tilerelease");
CODE(zero_0, "tilezero %tmm0");
CODE(zero_7, "tilezero %tmm7");
CODE(multiply_012, "tdpbf16ps %tmm2, %tmm1, %tmm0");
CODE(multiply_675, "tdpbf16ps %tmm5, %tmm7, %tmm6");
CODE(word_from_a, "vmovw %eax, %xmm0");
CODE(word_from_9, "vmovw %r9d, %xmm12");
CODE(word_from_c, "vmovw %ecx, %xmm17");
CODE(word_from_15, "vmovw %r15d, %xmm31");
CODE(word_to_b, "vmovw %xmm0, %ebx");
CODE(word_to_14, "vmovw %xmm21, %r14d");
CODE(word_load_near, "vmovw 2(%rdx), %xmm3");
CODE(word_load_nearest, "vmovw (%rdi), %xmm8");
CODE(word_load_before, "vmovw -0x100(%r13), %xmm20");
CODE(word_load_odd, "vmovw 0x101(%r12), %xmm15");
CODE(word_load_indexed, "vmovw 0x100(%r8,%r9,2), %xmm24");
CODE(word_store, "vmovw %xmm9, 6(%rbp)");
CODE(word_store_indexed, "vmovw %xmm30, (%r12,%r10,4)");
CODE(word_load_relative, "vmovw 1f(%rip), %xmm5\n jmp 2f\n 1: .word 0x1234\n 2:");

// call_on_cpu(general, code, vectors): with the general registers, but rsp, and the vector registers as given, and then as they are.
asm(R"(
    .pushsection .text
call_on_cpu:
    push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15
    push %rdx
    push %rdi
    push %rsi
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovdqu64 64*\n(%rdx), %zmm\n
    .endr
    mov 0(%rdi), %rax; mov 8(%rdi), %rcx; mov 16(%rdi), %rdx; mov 24(%rdi), %rbx; mov 40(%rdi), %rbp; mov 48(%rdi), %rsi
    .irp n, 8,9,10,11,12,13,14,15
    mov 8*\n(%rdi), %r\n
    .endr
    mov 56(%rdi), %rdi
    call *(%rsp)
    xchg %rdi, 8(%rsp)
    mov %rax, 0(%rdi); mov %rcx, 8(%rdi); mov %rdx, 16(%rdi); mov %rbx, 24(%rdi); mov %rbp, 40(%rdi); mov %rsi, 48(%rdi)
    .irp n, 8,9,10,11,12,13,14,15
    mov %r\n, 8*\n(%rdi)
    .endr
    mov 8(%rsp), %rax
    mov %rax, 56(%rdi)
    mov 16(%rsp), %rdx
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovdqu64 %zmm\n, 64*\n(%rdx)
    .endr
    vzeroupper
    add $24, %rsp
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx
    ret
    .popsection
)");
extern "C" void call_on_cpu(uint64_t *general, const uint8_t *code, uint8_t (*vectors)[64]);

namespace attune::test {
namespace {

enum Register { a, c, d, b, sp, bp, si, di }; // r8 to r15 are numbers

class PlainVectors final : public VectorRegisters {
public:
    uint8_t bytes[32][64];

    uint16_t word(int vector) const override { return uint16_t(bytes[vector][0] | bytes[vector][1] << 8); }
    void set_word(int vector, uint16_t word) override {
        std::memset(bytes[vector], 0, sizeof(bytes[vector]));
        std::memcpy(bytes[vector], &word, sizeof(word));
    }
};

/** Whether the CPU has the instructions, and lets this process use them. */
bool cpu_has_instructions() {
    static const bool has = [] {
        constexpr unsigned all = 1u << 22 | 1u << 23 | 1u << 24; // AMX-BF16, AVX512-FP16, AMX-TILE
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
        if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & all) != all) return false;
        constexpr long request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
        return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    }();
    return has;
}

template <int tile> void store(Tiles &to) {
    const TileConfiguration &shapes = to.configuration;
    if (shapes.rows[tile] == 0 || shapes.row_bytes[tile] % 4 != 0) return; // which the CPU refuses
    asm volatile("tilestored %%tmm%c2, (%0,%1)" : : "r"(to.bytes[tile]), "r"(int64_t(tile_row_bytes)), "i"(tile) : "memory");
}

template <int... tile> Tiles stored_tiles(std::integer_sequence<int, tile...>) {
    Tiles tiles;
    asm volatile("sttilecfg %0" : "=m"(tiles.configuration));
    (store<tile>(tiles), ...);
    return tiles;
}

Tiles tiles_of_cpu() { return stored_tiles(std::make_integer_sequence<int, tile_count>()); }

uint32_t bits_of(float number) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    return bits;
}

bool are_same(const Tiles &one, const Tiles &other) {
    return std::memcmp(&one.configuration, &other.configuration, sizeof(one.configuration)) == 0 &&
           std::memcmp(one.bytes, other.bytes, sizeof(one.bytes)) == 0;
}

class TileEmulator : public ::testing::Test {
protected:
    static constexpr uint64_t memory_address = 0x12340000; // which fits into a displacement
    static constexpr size_t memory_bytes = 0x4000;

    std::mt19937 random{1};
    uint8_t *memory = nullptr;
    uint64_t general[16];
    PlainVectors vectors;
    Tiles tiles;

    void SetUp() override {
        if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "the emulator needs AVX2 and FMA";
        void *const wanted = reinterpret_cast<void *>(memory_address);
        memory = static_cast<uint8_t *>(
            mmap(wanted, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
        ASSERT_EQ(memory, wanted);
        fill(memory, memory_bytes);
        fill(vectors.bytes, sizeof(vectors.bytes));
        fill(general, sizeof(general));
    }
    void TearDown() override {
        if (cpu_has_instructions()) asm volatile("tilerelease");
        if (memory) munmap(memory, memory_bytes);
    }

    void fill(void *bytes, size_t count) {
        for (size_t i = 0; i < count; ++i)
            static_cast<uint8_t *>(bytes)[i] = uint8_t(random());
    }

    /** Where `offset` of the memory is. */
    uint64_t at(int64_t offset) const { return memory_address + offset; }

    /** Emulates the instruction, and compares what it changes with what the CPU does. */
    void run(const uint8_t *code, int length, bool also_on_cpu = true) {
        const std::vector<uint8_t> memory_before(memory, memory + memory_bytes);
        uint64_t general_of_cpu[16];
        PlainVectors vectors_of_cpu = vectors;
        std::memcpy(general_of_cpu, general, sizeof(general));
        ASSERT_EQ(emulate(code, general, vectors, tiles), length);
        if (!also_on_cpu || !cpu_has_instructions()) return;
        const std::vector<uint8_t> memory_after(memory, memory + memory_bytes);
        std::memcpy(memory, memory_before.data(), memory_bytes);
        call_on_cpu(general_of_cpu, code, vectors_of_cpu.bytes);
        EXPECT_EQ(std::memcmp(memory, memory_after.data(), memory_bytes), 0);
        EXPECT_EQ(std::memcmp(general, general_of_cpu, sizeof(general)), 0);
        EXPECT_EQ(std::memcmp(vectors.bytes, vectors_of_cpu.bytes, sizeof(vectors.bytes)), 0);
        Tiles of_cpu = tiles_of_cpu();
        take_nans(of_cpu);
        EXPECT_TRUE(are_same(tiles, of_cpu));
    }

    /** NaN is NaN, whatever it carries. */
    void take_nans(Tiles &of_cpu) {
        for (auto &tile : of_cpu.bytes)
            for (auto &row : tile)
                for (int i = 0; i < tile_row_bytes; i += 4) {
                    const uint8_t *mine = tiles.bytes[0][0] + (row + i - of_cpu.bytes[0][0]);
                    float number, my_number;
                    std::memcpy(&number, row + i, 4);
                    std::memcpy(&my_number, mine, 4);
                    if (std::isnan(number) && std::isnan(my_number)) std::memcpy(row + i, mine, 4);
                }
    }

    void set_configuration(const TileConfiguration &configuration) {
        std::memcpy(memory + 0x3000, &configuration, sizeof(configuration));
        general[d] = 0x100, general[9] = at(0x3000 - 0x40 - 0x200);
        run(CODE_OF(configure));
    }

    struct Shape {
        int rows, row_bytes;
    };
    void set_shapes(const std::vector<Shape> &shapes) {
        TileConfiguration configuration;
        configuration.palette = 1;
        for (size_t i = 0; i < shapes.size(); ++i) {
            configuration.rows[i] = uint8_t(shapes[i].rows);
            configuration.row_bytes[i] = uint16_t(shapes[i].row_bytes);
        }
        set_configuration(configuration);
    }
    /** Tiles of every kind of shape. */
    void set_all_shapes() { set_shapes({{16, 64}, {1, 4}, {7, 12}, {16, 64}, {3, 60}, {16, 4}, {12, 36}, {5, 64}}); }

    static void set_word(uint8_t *to, uint32_t word) { std::memcpy(to, &word, sizeof(word)); }

    /** Makes tiles 0, 1 and 2 a product's operands: of numbers of f32 at `sums`, pairs of bf16 at `a` and `b`, which are full tiles. */
    void load_operands(const uint32_t *sums, const uint32_t *a_words, const uint32_t *b_words) {
        const uint32_t *const words[] = {sums, a_words, b_words};
        for (int i = 0; i < 3; ++i)
            std::memcpy(memory + 0x400 * i, words[i], 0x400);
        general[a] = at(0), general[c] = 64;
        run(CODE_OF(load_0));
        general[d] = at(0x400 - 0x40), general[b] = 32;
        run(CODE_OF(load_1));
        general[si] = at(0x800 + 0x80), general[di] = 16;
        run(CODE_OF(load_2));
    }

    float sum_at(int tile, int row, int column) const {
        float number;
        std::memcpy(&number, tiles.bytes[tile][row] + 4 * column, sizeof(number));
        return number;
    }
};

/** The operand of an instruction that copies a tile. */
struct Place {
    const uint8_t *code;
    int length, tile, base, index, scale;
    int64_t displacement;
};
constexpr int absent = -1;

TEST_F(TileEmulator, LoadsFromEveryFormOfAddress) {
    set_all_shapes();
    for (const Place &place : {Place{CODE_OF(load_0), 0, a, c, 1, 0},
                               {CODE_OF(load_1), 1, d, b, 2, 0x40},
                               {CODE_OF(load_2), 2, si, di, 4, -0x80},
                               {CODE_OF(load_3), 3, 8, 9, 8, 0x12340},
                               {CODE_OF(load_4), 4, 10, 11, 1, -0x12340},
                               {CODE_OF(load_5), 5, 12, 13, 2, 0},
                               {CODE_OF(load_6), 6, 13, 12, 4, 0},
                               {CODE_OF(load_7), 7, bp, 14, 8, 0x10},
                               {CODE_OF(load_without_index), 3, 15, absent, 1, 8},
                               {CODE_OF(load_without_base), 5, absent, c, 4, 0},
                               {CODE_OF(load_from_stack), 2, sp, bp, 1, 8}})
        for (int64_t row_distance : {136, -72}) {
            SCOPED_TRACE(testing::Message() << "tile " << place.tile << ", base " << place.base << ", " << row_distance);
            fill(general, sizeof(general));
            if (place.base != absent) general[place.base] = at(0x1000 - place.displacement);
            if (place.index != absent) general[place.index] = uint64_t(row_distance / place.scale);
            run(place.code, place.length, place.base != sp);
            uint8_t expected[tile_rows][tile_row_bytes] = {};
            for (int row = 0; row < tiles.configuration.rows[place.tile]; ++row)
                std::memcpy(expected[row], memory + 0x1000 + (place.index == absent ? 0 : row * row_distance),
                            tiles.configuration.row_bytes[place.tile]);
            EXPECT_EQ(std::memcmp(tiles.bytes[place.tile], expected, sizeof(expected)), 0);
            if (place.base == sp) run(CODE_OF(release)), set_all_shapes(); // the CPU's tile is another now
        }
}

TEST_F(TileEmulator, StoresNoMoreThanTheShape) {
    set_all_shapes();
    general[a] = at(0), general[c] = 64, general[d] = at(0), general[b] = 0, general[bp] = at(0x200), general[14] = 8;
    run(CODE_OF(load_0)), run(CODE_OF(load_1)), run(CODE_OF(load_7));
    for (const Place &place :
         {Place{CODE_OF(store_0), 0, bp, a, 2, 0x12340}, {CODE_OF(store_1), 1, 14, 15, 1, 0}, {CODE_OF(store_7), 7, b, 10, 8, -0x10}}) {
        SCOPED_TRACE(place.tile);
        fill(memory, memory_bytes);
        std::vector<uint8_t> expected(memory, memory + memory_bytes);
        for (int row = 0; row < tiles.configuration.rows[place.tile]; ++row)
            std::memcpy(&expected[0x1000 + row * 128], tiles.bytes[place.tile][row], tiles.configuration.row_bytes[place.tile]);
        fill(general, sizeof(general));
        general[place.base] = at(0x1000 - place.displacement), general[place.index] = 128 / place.scale;
        run(place.code, place.length);
        EXPECT_EQ(std::memcmp(memory, expected.data(), memory_bytes), 0);
    }
}

TEST_F(TileEmulator, ConfiguresAndReleases) {
    set_all_shapes();
    const TileConfiguration configured = tiles.configuration;
    EXPECT_EQ(configured.row_bytes[6], 36);
    general[a] = at(0), general[c] = 64, general[bp] = at(0), general[14] = 8;
    run(CODE_OF(load_0)), run(CODE_OF(load_7));
    run(CODE_OF(zero_7));
    const Tiles zeros;
    EXPECT_EQ(std::memcmp(tiles.bytes[7], zeros.bytes[7], sizeof(zeros.bytes[7])), 0);
    EXPECT_EQ(std::memcmp(tiles.bytes[0][15], memory + 15 * 64, 64), 0);
    run(CODE_OF(zero_0));
    EXPECT_EQ(std::memcmp(tiles.bytes[0], zeros.bytes[0], sizeof(zeros.bytes[0])), 0);

    general[si] = at(0x40);
    run(CODE_OF(store_configuration));
    EXPECT_EQ(std::memcmp(memory, &configured, sizeof(configured)), 0);
    run(CODE_OF(load_0));
    set_all_shapes();
    EXPECT_EQ(std::memcmp(tiles.bytes, zeros.bytes, sizeof(zeros.bytes)), 0) << "a configuration makes all tiles zeros";
    run(CODE_OF(load_0)), run(CODE_OF(release));
    general[13] = at(0x80 - 0x12340);
    run(CODE_OF(store_configuration_far));
    EXPECT_EQ(std::memcmp(memory + 0x80, &zeros.configuration, sizeof(zeros.configuration)), 0);
    EXPECT_TRUE(are_same(tiles, zeros));
}

TEST_F(TileEmulator, MultipliesInTheOrderOfTheManual) {
    // 2 rows, 3 columns, 4 pairs of terms: a's are 1, and b's such that any other order would give other sums.
    set_shapes({{2, 12}, {2, 16}, {4, 12}});
    uint32_t sums[256] = {}, a_words[256] = {}, b_words[256] = {};
    auto pair = [](float even, float odd) { return bits_of(even) >> 16 | (bits_of(odd) & 0xffff0000); };
    const float large = 0x1p24f;
    for (int row = 0; row < 2; ++row)
        for (int k = 0; k < 4; ++k)
            a_words[16 * row + k] = row == 0 ? pair(1, 1) : pair(-2, 3);
    const float even[4][3] = {{large, 1, 0}, {1, 1, 2}, {1, large, 0}, {0, -large, 0}};
    const float odd[4][3] = {{-large, 0, 1}, {1, 0, 0.5f}, {0, 0, 0}, {0, 1, 0}};
    for (int k = 0; k < 4; ++k)
        for (int column = 0; column < 3; ++column)
            b_words[16 * k + column] = pair(even[k][column], odd[k][column]);
    sums[0] = bits_of(5), sums[16 + 2] = bits_of(-1);
    load_operands(sums, a_words, b_words);
    run(CODE_OF(multiply_012));
    EXPECT_EQ(sum_at(0, 0, 0), 5 + (large + (-large + 1)));
    EXPECT_EQ(sum_at(0, 0, 1), 2 + 1);
    EXPECT_EQ(sum_at(0, 0, 2), 2 + 1.5f);
    EXPECT_EQ(sum_at(0, 1, 2), -1 + (-4 + 4.5f));
    EXPECT_EQ(sum_at(0, 0, 3), 0) << "outside the shape";
}

TEST_F(TileEmulator, TakesDenormalNumbersAsZeros) {
    set_shapes({{1, 24}, {1, 8}, {2, 24}});
    uint32_t sums[256] = {}, a_words[256] = {}, b_words[256] = {};
    auto even = [](float number) { return bits_of(number) >> 16; };
    const float infinity = INFINITY;
    a_words[0] = even(0x1p-20f), a_words[1] = even(0x1p20f); // the odd ones are 0
    b_words[0] = even(0x1p-110f);
    b_words[1] = even(0x1p-106f);
    b_words[16 + 2] = even(0x1p-130f);
    sums[3] = 1;
    b_words[4] = even(-0x1p-106f), sums[4] = bits_of(0x1.8p-126f);
    b_words[5] = bits_of(infinity);
    load_operands(sums, a_words, b_words);
    run(CODE_OF(multiply_012));
    EXPECT_EQ(sum_at(0, 0, 0), 0) << "a product";
    EXPECT_EQ(sum_at(0, 0, 1), 0x1p-126f);
    EXPECT_EQ(sum_at(0, 0, 2), 0) << "a factor";
    EXPECT_EQ(sum_at(0, 0, 3), 0) << "the sum so far";
    EXPECT_EQ(sum_at(0, 0, 4), 0) << "the new sum";
    EXPECT_TRUE(std::isnan(sum_at(0, 0, 5)));
}

TEST_F(TileEmulator, RoundsToTheNearestWhateverTheThreadDoes) {
    set_shapes({{1, 4}, {1, 4}, {1, 4}});
    uint32_t sums[256] = {bits_of(1)}, a_words[256] = {bits_of(0x1p-30f)}, b_words[256] = {bits_of(1)};
    load_operands(sums, a_words, b_words);
    const unsigned before = _mm_getcsr(), upwards = 0x1f80 | _MM_ROUND_UP;
    _mm_setcsr(upwards);
    run(CODE_OF(multiply_012));
    EXPECT_EQ(_mm_getcsr(), upwards);
    _mm_setcsr(before);
    EXPECT_EQ(sum_at(0, 0, 0), 1);
}

TEST_F(TileEmulator, MultipliesTheTilesThatAreNamed) {
    set_shapes({{16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 64}, {1, 4}, {2, 4}, {2, 4}});
    auto load = [&](const uint8_t *code, int length, int base, int index, int64_t offset) {
        general[base] = at(offset), general[index] = 8;
        run(code, length);
    };
    set_word(memory, bits_of(3)); // the even element is 0, as 3 has no bits below
    set_word(memory + 0x10, bits_of(5));
    set_word(memory + 0x50, bits_of(7));
    set_word(memory + 0x100, 0), set_word(memory + 0x120, bits_of(1));
    load(CODE_OF(load_5), 12, 13, 0);
    load(CODE_OF(load_7), bp, 14, 0);
    load(CODE_OF(load_6), 13, 12, 0x100);
    run(CODE_OF(multiply_675));
    EXPECT_EQ(sum_at(6, 0, 0), 15);
    EXPECT_EQ(sum_at(6, 1, 0), 22);
}

TEST_F(TileEmulator, MovesWords) {
    auto expect_loaded = [&](int vector, uint64_t word) {
        uint8_t expected[64] = {uint8_t(word), uint8_t(word >> 8)};
        EXPECT_EQ(std::memcmp(vectors.bytes[vector], expected, sizeof(expected)), 0) << vector;
    };
    run(CODE_OF(word_from_a)), expect_loaded(0, general[a]);
    run(CODE_OF(word_from_9)), expect_loaded(12, general[9]);
    run(CODE_OF(word_from_c)), expect_loaded(17, general[c]);
    run(CODE_OF(word_from_15)), expect_loaded(31, general[15]);
    run(CODE_OF(word_to_b));
    EXPECT_EQ(general[b], vectors.word(0));
    run(CODE_OF(word_to_14));
    EXPECT_EQ(general[14], vectors.word(21));

    auto word_at = [&](int64_t offset) { return uint64_t(memory[offset] | memory[offset + 1] << 8); };
    general[d] = general[di] = at(0), general[13] = at(0x200), general[12] = at(0x200), general[8] = at(0), general[9] = 0x80;
    run(CODE_OF(word_load_near)), expect_loaded(3, word_at(2));
    run(CODE_OF(word_load_nearest)), expect_loaded(8, word_at(0));
    run(CODE_OF(word_load_before)), expect_loaded(20, word_at(0x100));
    run(CODE_OF(word_load_odd)), expect_loaded(15, word_at(0x301));
    run(CODE_OF(word_load_indexed)), expect_loaded(24, word_at(0x200));
    general[bp] = at(0x300), general[10] = 3;
    run(CODE_OF(word_store));
    EXPECT_EQ(word_at(0x306), vectors.word(9));
    run(CODE_OF(word_store_indexed));
    EXPECT_EQ(word_at(0x20c), vectors.word(30));
    EXPECT_EQ(emulate(word_load_relative, general, vectors, tiles), 10);
    expect_loaded(5, 0x1234);
}

TEST_F(TileEmulator, KnowsNoOtherInstruction) {
    set_shapes({{16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 64}, {16, 62}});
    std::fill(general, general + 16, at(0x100));
    std::memcpy(memory + 0x100, &tiles.configuration, sizeof(tiles.configuration)); // so that it could be loaded
    const std::vector<uint8_t> instructions[] = {
        {0x90},                               // nop
        {0x0f, 0x0b},                         // ud2
        {0xc5, 0xf9, 0xfe, 0xc1},             // vpaddd
        {0xc4, 0xe2, 0x79, 0x48, 0xc0},       // nothing
        {0xc4, 0xe1, 0x7b, 0x49, 0xc0},       // tilezero in another map,
        {0xc4, 0xe2, 0xfb, 0x49, 0xc0},       // of W1,
        {0xc4, 0xe2, 0x7f, 0x49, 0xc0},       // of 256 bits,
        {0xc4, 0xe2, 0x73, 0x49, 0xc0},       // with a third operand,
        {0xc4, 0xe2, 0x7b, 0x49, 0xc1},       // with a second one,
        {0xc4, 0x62, 0x7b, 0x49, 0xc0},       // of tile 8,
        {0xc4, 0xe2, 0x7b, 0x49, 0xf8},       // of one without shape
        {0xc4, 0xe2, 0x78, 0x49, 0xc1},       // tilerelease with an operand
        {0xc4, 0xe2, 0x78, 0x49, 0x08},       // ldtilecfg with another opcode extension
        {0xc4, 0xe2, 0x7b, 0x4b, 0x00},       // tileloadd without SIB,
        {0xc4, 0xe2, 0x7b, 0x4b, 0xc4},       // from a register,
        {0xc4, 0xe2, 0x7b, 0x4b, 0x3c, 0x08}, // of a tile without shape,
        {0xc4, 0xe2, 0x7b, 0x4b, 0x2c, 0x08}, // of one of half words,
        {0xc4, 0xe2, 0x78, 0x4b, 0x04, 0x08}, // without prefix
        {0xc4, 0xe2, 0x6b, 0x5e, 0xc1},       // tdpbssd
        {0xc4, 0xe2, 0x6b, 0x5c, 0xc1},       // tdpfp16ps
        {0xc4, 0xe2, 0x72, 0x5c, 0xc1},       // tdpbf16ps of one tile twice,
        {0xc4, 0xe2, 0x6a, 0x5c, 0xc0},       // into its first factor,
        {0xc4, 0xe2, 0x7a, 0x5c, 0xc1},       // into its second one,
        {0xc4, 0xe2, 0x42, 0x5c, 0xc1},       // of a tile without shape,
        {0xc4, 0xe2, 0x2a, 0x5c, 0xc1},       // of tile 10
        {0x62, 0xf5, 0x7d, 0x09, 0x6e, 0xc0}, // vmovw under a mask,
        {0x62, 0xf5, 0x7d, 0x28, 0x6e, 0xc0}, // of 256 bits,
        {0x62, 0xf5, 0x75, 0x08, 0x6e, 0xc0}, // with a third operand
        {0x62, 0xf5, 0x7e, 0x08, 0x10, 0x00}, // vmovsh
        {0x62, 0xf1, 0x7d, 0x08, 0x6e, 0xc0}, // vmovd
    };
    uint64_t before[16];
    std::memcpy(before, general, sizeof(general));
    const PlainVectors vectors_before = vectors;
    const Tiles tiles_before = tiles;
    for (std::vector<uint8_t> code : instructions) {
        code.resize(16);
        EXPECT_EQ(emulate(code.data(), general, vectors, tiles), 0) << testing::PrintToString(code);
    }
    EXPECT_EQ(std::memcmp(before, general, sizeof(general)), 0);
    EXPECT_EQ(std::memcmp(vectors_before.bytes, vectors.bytes, sizeof(vectors.bytes)), 0);
    EXPECT_TRUE(are_same(tiles_before, tiles));
}

TEST_F(TileEmulator, RefusesConfigurationsThatTheCpuRefuses) {
    set_shapes({{16, 64}});
    TileConfiguration good = tiles.configuration;
    auto expect_refused = [&](auto change) {
        TileConfiguration changed = good;
        change(changed);
        std::memcpy(memory + 0x3000, &changed, sizeof(changed));
        EXPECT_EQ(emulate(configure, general, vectors, tiles), 0);
        EXPECT_EQ(std::memcmp(&tiles.configuration, &good, sizeof(good)), 0);
    };
    expect_refused([](TileConfiguration &to) { to.palette = 2; });
    expect_refused([](TileConfiguration &to) { to.reserved[13] = 1; });
    expect_refused([](TileConfiguration &to) { to.rows[0] = 17; });
    expect_refused([](TileConfiguration &to) { to.row_bytes[0] = 65; });
    expect_refused([](TileConfiguration &to) { to.rows[0] = 0; });
    expect_refused([](TileConfiguration &to) { to.row_bytes[0] = 0; });
    expect_refused([](TileConfiguration &to) { to.rows[8] = to.row_bytes[8] = 1; });
    EXPECT_NE(emulate(zero_0, general, vectors, tiles), 0);
}

TEST_F(TileEmulator, MultipliesOnlyShapesThatGoTogether) {
    for (const std::vector<Shape> &shapes : std::vector<std::vector<Shape>>{
             {{3, 12}, {2, 16}, {4, 12}}, {{2, 16}, {2, 16}, {4, 12}}, {{2, 12}, {2, 12}, {4, 12}}, {{2, 14}, {2, 16}, {4, 14}}}) {
        set_shapes(shapes);
        EXPECT_EQ(emulate(multiply_012, general, vectors, tiles), 0) << shapes[0].rows << " " << shapes[0].row_bytes;
    }
    set_shapes({{2, 12}, {2, 16}, {4, 12}});
    EXPECT_EQ(emulate(multiply_012, general, vectors, tiles), 5);
}

/** Numbers near each other, so that sums cancel, near the smallest and the largest, and any bits at all. */
TEST_F(TileEmulator, MultipliesAsTheCpuDoes) {
    if (!cpu_has_instructions()) GTEST_SKIP() << "the CPU has no AMX for this process";
    struct Exponents {
        int least, most;
    };
    for (auto [of_factors, of_sums] : {std::pair<Exponents, Exponents>{{0, 255}, {0, 255}},
                                       {{120, 130}, {110, 140}},
                                       {{0, 3}, {0, 3}},
                                       {{58, 70}, {0, 8}},
                                       {{1, 120}, {0, 20}},
                                       {{180, 195}, {230, 254}},
                                       {{126, 127}, {255, 255}}}) {
        auto number = [&](Exponents of) {
            return (uint32_t(random()) & 0x807fffff) | uint32_t(of.least + int(random() % (of.most - of.least + 1))) << 23;
        };
        for (int trial = 0; trial < 100; ++trial) {
            SCOPED_TRACE(testing::Message() << "exponents from " << of_factors.least << ", trial " << trial);
            const int rows = trial == 0 ? 16 : 1 + random() % 16, columns = trial == 0 ? 16 : 1 + random() % 16;
            const int terms = trial == 0 ? 16 : 1 + random() % 16;
            set_shapes({{rows, 4 * columns}, {rows, 4 * terms}, {terms, 4 * columns}});
            uint32_t sums[256], a_words[256], b_words[256];
            for (int i = 0; i < 256; ++i) {
                sums[i] = trial % 3 == 1 ? 0 : number(of_sums);
                a_words[i] = number(of_factors) >> 16 | (number(of_factors) & 0xffff0000);
                b_words[i] = number(of_factors) >> 16 | (number(of_factors) & 0xffff0000);
            }
            load_operands(sums, a_words, b_words);
            run(CODE_OF(multiply_012));
            if (HasFailure()) return;
        }
    }
}

} // namespace
} // namespace attune::test
