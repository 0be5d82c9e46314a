// Intel's AMX of bf16 in software, for tests of its kernels on other CPUs: the instructions of tile registers, and vmovw, which compilers
// use for every CPU that has tiles. Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, and volume 1,
// chapter 18.
#pragma once

#include <cstdint>

namespace attune::test {

constexpr int tile_count = 8, tile_rows = 16, tile_row_bytes = 64;

/** What ldtilecfg reads and sttilecfg writes. */
struct TileConfiguration {
    uint8_t palette = 0;   // 0: there are no tiles, 1: there are tile_count
    uint8_t start_row = 0; // where an interrupted instruction goes on; here none is interrupted
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

/** A thread's tile registers. Bytes outside the configured shapes are zeros. */
struct Tiles {
    TileConfiguration configuration;
    uint8_t bytes[tile_count][tile_rows][tile_row_bytes] = {};

    /** Configures the tiles and makes them zeros. False if the CPU refuses the configuration. */
    bool configure(const TileConfiguration &to);
};

/** The vector registers, 32 of them, of which vmovw has the lowest word. */
class VectorRegisters {
public:
    virtual uint16_t word(int vector) const = 0;
    /** Makes the rest of the 512 bits zeros. */
    virtual void set_word(int vector, uint16_t word) = 0;

protected:
    ~VectorRegisters() = default;
};

/** Executes the instruction at `code`: of ldtilecfg, sttilecfg, tilerelease, tilezero, tileloadd, tileloaddt1, tilestored, tdpbf16ps and
 * vmovw, without prefixes for other segments or 32-bit addresses. `general` are the general registers in the order of their encoding: rax,
 * rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15. Needs AVX2 and FMA.
 * @returns the length of the instruction, or 0 if it is none of these, or one that the CPU refuses, and nothing was changed. */
int emulate(const uint8_t *code, uint64_t (&general)[16], VectorRegisters &vectors, Tiles &tiles);

} // namespace attune::test
