// mma, ldmatrix and stmatrix against plain products.
#include "matrix_entries.h"

namespace attune::test {

using Matrices = EmulatorTest;

static uint32_t half_bits(int value) { // of -4 to 4
    static const uint32_t bits[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    return value < 0 ? bits[-value] | 0x8000 : bits[value];
}
static uint32_t element(bool brain, int value) { return brain ? brain_bits(static_cast<float>(value)) : half_bits(value); }

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

} // namespace attune::test
