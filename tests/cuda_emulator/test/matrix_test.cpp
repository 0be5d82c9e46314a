// mma, ldmatrix, stmatrix and wgmma against plain products.
#include "kernel.h"

#include <cmath>

namespace attune::test {

using Matrices = EmulatorTest;

/** A small whole number that differs from place to place; sums of their products are exact. */
static int entry(uint32_t row, uint32_t column, uint32_t seed) {
    return static_cast<int>((row * 7 + column * 13 + seed * 5 + row * column) % 9) - 4;
}

static uint32_t half_bits(int value) { // of -4 to 4
    static const uint32_t bits[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    return value < 0 ? bits[-value] | 0x8000 : bits[value];
}
static uint32_t element(bool brain, int value) { return brain ? brain_bits(static_cast<float>(value)) : half_bits(value); }

static int product(uint32_t row, uint32_t column, uint32_t depth) {
    int sum = 0;
    for (uint32_t k = 0; k < depth; ++k)
        sum += entry(row, k, 1) * entry(k, column, 2);
    return sum;
}

/** The fragments of A (4 words a lane), B (2) and C (4), lane by lane in blocks of 32. */
static std::vector<uint32_t> fragments(bool brain) {
    std::vector<uint32_t> words(320);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t g = lane / 4, q = lane % 4;
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t row = g + 8 * (i % 2), column = 2 * q + 8 * (i / 2);
            words[32 * i + lane] = element(brain, entry(row, column, 1)) | element(brain, entry(row, column + 1, 1)) << 16;
            words[32 * (6 + i) + lane] = bits_of(static_cast<float>(entry(g + 8 * (i / 2), 2 * q + i % 2, 3)));
        }
        for (uint32_t i = 0; i < 2; ++i) {
            const uint32_t row = 2 * q + 8 * i;
            words[32 * (4 + i) + lane] = element(brain, entry(row, g, 2)) | element(brain, entry(row + 1, g, 2)) << 16;
        }
    }
    return words;
}

static std::string load_fragments() {
    std::string text;
    for (int i = 0; i < 10; ++i)
        text += "ld.global.u32 %r" + std::to_string(10 + i) + ", [%d2+" + std::to_string(128 * i) + "];\n";
    return text;
}
static std::string store_sums(int first) {
    std::string text = "mad.wide.u32 %d3, %r0, 16, %d1;\n";
    for (int i = 0; i < 4; ++i)
        text += "st.global.u32 [%d3+" + std::to_string(4 * i) + "], %r" + std::to_string(first + i) + ";\n";
    return text;
}

TEST_F(Matrices, MultiplyFragments) {
    for (const bool brain : {false, true}) {
        const std::string type = brain ? "bf16" : "f16";
        const std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type +
                                ".f32 {%r16, %r17, %r18, %r19}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%r16, %r17, %r18, %r19};\n";
        const auto got = run(load_fragments() + mma + store_sums(16), fragments(brain), 128);
        for (uint32_t lane = 0; lane < 32; ++lane) {
            for (uint32_t i = 0; i < 4; ++i) {
                const uint32_t row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
                EXPECT_EQ(float_of(got[4 * lane + i]), static_cast<float>(product(row, column, 16) + entry(row, column, 3)))
                    << type << " " << lane << " " << i;
            }
        }
    }
}

TEST_F(Matrices, MultiplyHalfAsDeep) {
    const std::string mma =
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r16, %r17, %r18, %r19}, {%r10, %r11}, {%r14}, {%r16, %r17, %r18, %r19};\n";
    const auto got = run(load_fragments() + mma + store_sums(16), fragments(true), 128);
    EXPECT_EQ(float_of(got[4 * 9 + 2]), static_cast<float>(product(10, 2, 8) + entry(10, 2, 3)));
}

TEST_F(Matrices, LoadAndStoreRows) {
    // Matrix i has 8 rows of 16 bytes at 128 i; halves count up.
    std::vector<uint32_t> words(128);
    for (uint32_t i = 0; i < 128; ++i)
        words[i] = (2 * i) | (2 * i + 1) << 16;
    const std::string before = ".shared .align 16 .b8 tile[1024];";
    const std::string fill =
        "mov.u32 %r5, tile; mad.lo.u32 %r6, %r0, 16, %r5; mad.wide.u32 %d2, %r0, 16, %d0; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2];\n"
        "st.shared.v4.u32 [%r6], {%r1, %r2, %r3, %r4}; bar.warp.sync -1;\n";
    for (const bool transposed : {false, true}) {
        const std::string load =
            "ldmatrix.sync.aligned.m8n8.x4" + std::string(transposed ? ".trans" : "") + ".shared.b16 {%r16, %r17, %r18, %r19}, [%r6];\n";
        const auto got = run(fill + load + store_sums(16), words, 128, {1, 32, 0}, before);
        for (uint32_t lane = 0; lane < 32; ++lane) {
            for (uint32_t i = 0; i < 4; ++i) {
                const uint32_t g = lane / 4, q = lane % 4, first = transposed ? 16 * q + g : 8 * g + 2 * q,
                               second = transposed ? first + 8 : first + 1;
                EXPECT_EQ(got[4 * lane + i], (64 * i + first) | (64 * i + second) << 16);
            }
        }
    }
    const std::string round =
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r16, %r17}, [%r6]; add.u32 %r7, %r6, 512;\n"
        "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r7], {%r16, %r17}; bar.warp.sync -1; mad.lo.u32 %r8, %r0, 4, %r5;\n"
        "ld.shared.u32 %r9, [%r8+512]; st.global.u32 [%d3], %r9;";
    EXPECT_EQ(run(fill + round, words, 32, {1, 32, 0}, before), std::vector<uint32_t>(words.begin(), words.begin() + 32));
    refuses("mov.u32 %r6, tile; add.u32 %r6, %r6, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r6];", 716, "multiple of 16", {},
            before);
}

/** Where an element of a matrix lies, in bytes: `width` bytes of swizzle, lines of 8. */
static uint32_t swizzled(uint32_t line, uint32_t place, uint32_t width, uint32_t stride) {
    const uint32_t at = line / 8 * stride + line % 8 * width + place * 2;
    return at ^ (at >> 7 & (width / 16 - 1)) << 4;
}

static void put(std::vector<uint32_t> &memory, uint32_t at, int value) {
    memory[at / 4] = (memory[at / 4] & ~(0xffffu << at % 4 * 8)) | brain_bits(static_cast<float>(value)) << at % 4 * 8;
}

/** 64 by 16 times 16 by 8 by a warpgroup: A at 0, B at 8192, both swizzled by `width` bytes; the result is [64][8]. */
struct GroupCase {
    uint32_t width, code; // of the descriptor
    bool transposed_b, a_in_registers;
};

static std::vector<uint32_t> group_memory(const GroupCase &c) {
    std::vector<uint32_t> memory(4096);
    for (uint32_t row = 0; row < 64; ++row) {
        for (uint32_t k = 0; k < 16; ++k)
            put(memory, swizzled(row, k, c.width, 8 * c.width), entry(row, k, 1));
    }
    for (uint32_t column = 0; column < 8; ++column) {
        for (uint32_t k = 0; k < 16; ++k) {
            const uint32_t at = c.transposed_b ? swizzled(k, column, c.width, 8 * c.width) : swizzled(column, k, c.width, 8 * c.width);
            put(memory, 8192 + at, entry(k, column, 2));
        }
    }
    return memory;
}

static std::string group_body(const GroupCase &c) {
    // Addresses in shared memory begin at a multiple of 1024.
    std::string text =
        "mov.u32 %r5, dynamic; mov.u32 %r1, %r0;\n"
        "FILL: shl.b32 %r2, %r1, 2; cvt.u64.u32 %d4, %r2; add.u64 %d4, %d0, %d4; ld.global.u32 %r3, [%d4]; add.u32 %r2, %r5, %r2;\n"
        "st.shared.u32 [%r2], %r3; add.u32 %r1, %r1, 128; setp.lt.u32 %p1, %r1, 4096; @%p1 bra FILL; bar.sync 0;\n";
    const uint64_t fixed = static_cast<uint64_t>(c.code) << 62 | static_cast<uint64_t>(8 * c.width / 16) << 32 | 1ull << 16;
    text += "shr.u32 %r6, %r5, 4; cvt.u64.u32 %d5, %r6; or.b64 %d5, %d5, " + std::to_string(static_cast<int64_t>(fixed)) +
            "; add.u64 %d6, %d5, 512;\n";
    // The fragment of A of this warp, by ldmatrix from unswizzled places worked out for its lanes.
    text += "wgmma.fence.sync.aligned;\nmov.pred %p2, 0;\n";
    const std::string sums = "{%r20, %r21, %r22, %r23}",
                      tail = std::string(", %d6, %p2, 1, 1") + (c.a_in_registers ? "" : ", 0") + (c.transposed_b ? ", 1;\n" : ", 0;\n");
    if (c.a_in_registers) {
        text += "shr.u32 %r7, %r0, 5; and.b32 %r8, %r0, 15; mad.lo.u32 %r8, %r7, 16, %r8; shl.b32 %r8, %r8, 7; bfe.u32 %r9, %r0, 4, 1; "
                "shl.b32 %r9, %r9, 4;\n"
                "or.b32 %r8, %r8, %r9; shr.u32 %r9, %r8, 7; and.b32 %r9, %r9, 7; shl.b32 %r9, %r9, 4; xor.b32 %r8, %r8, %r9; add.u32 %r8, "
                "%r8, %r5;\n"
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];\n";
    }
    text += "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " + sums + ", " + (c.a_in_registers ? "{%r10, %r11, %r12, %r13}" : "%d5") +
            tail;
    text += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
    return text + store_sums(20);
}

TEST_F(Matrices, MultiplyByWarpgroups) {
    const GroupCase cases[] = {{128, 1, false, false}, {64, 2, false, false}, {32, 3, false, false},
                               {128, 1, true, false},  {64, 2, true, false},  {128, 1, false, true}};
    for (const GroupCase &c : cases) {
        const auto got = run(group_body(c), group_memory(c), 512, {1, 128, 16384}, ".extern .shared .align 1024 .b8 dynamic[];");
        for (uint32_t thread = 0; thread < 128; ++thread) {
            for (uint32_t i = 0; i < 4; ++i) {
                const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2), column = 2 * (thread % 4) + i % 2;
                ASSERT_EQ(float_of(got[4 * thread + i]), static_cast<float>(product(row, column, 16)))
                    << "swizzle " << c.width << " transposed " << c.transposed_b << " registers " << c.a_in_registers << " row " << row
                    << " column " << column;
            }
        }
    }
}

} // namespace attune::test
