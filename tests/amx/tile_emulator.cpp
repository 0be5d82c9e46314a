#include "tile_emulator.h"

#include <cstring>

#include <immintrin.h>

namespace attune::test {

namespace {

constexpr int tile_words = tile_row_bytes / 4; // of a row: numbers of f32, or pairs of bf16

/** Never true of 8 to 15, which can be encoded too. */
bool is_configured(const Tiles &tiles, int tile) { return tiles.configuration.rows[tile] != 0; }

// ---- Operands

/** What the ModRM byte of an instruction tells, with the bytes after it. */
struct Operands {
    bool in_register;    // the second operand; it is in memory otherwise
    int first, second;   // registers
    bool has_sib;        // the address is of the form with a scale, an index and a base
    uint64_t base;       // with the displacement
    uint64_t index;      // scaled; zero if there is none
    const uint8_t *next; // what comes after them

    uint8_t *address() const { return reinterpret_cast<uint8_t *>(base + index); }
};

/** The bits that prefixes add on top of those of ModRM and SIB. */
struct Extensions {
    int first, index, base; // 8 or 0
};

template <typename Number> Number read(const uint8_t *from) {
    Number number;
    std::memcpy(&number, from, sizeof(number));
    return number;
}

/** `short_scale`: what a displacement of one byte counts, in bytes. */
Operands decode_operands(const uint8_t *code, Extensions extensions, const uint64_t (&general)[16], int short_scale) {
    const int mode = *code >> 6, low = *code & 7;
    Operands operands = {};
    operands.in_register = mode == 3;
    operands.first = (*code >> 3 & 7) + extensions.first;
    operands.second = low + extensions.base;
    operands.next = code + 1;
    if (operands.in_register) return operands;

    operands.has_sib = low == 4;
    int base = low;
    if (operands.has_sib) {
        const uint8_t sib = *operands.next++;
        const int index = (sib >> 3 & 7) + extensions.index;
        if (index != 4) operands.index = general[index] << (sib >> 6);
        base = sib & 7;
    }
    const bool without_base = mode == 0 && base == 5;
    if (mode == 1) {
        operands.base = int64_t(read<int8_t>(operands.next)) * short_scale;
        operands.next += 1;
    } else if (mode == 2 || without_base) {
        operands.base = int64_t(read<int32_t>(operands.next));
        operands.next += 4;
    }
    if (!without_base)
        operands.base += general[base + extensions.base];
    else if (!operands.has_sib)
        operands.base += reinterpret_cast<uint64_t>(operands.next); // relative to the next instruction: no immediate follows
    return operands;
}

// ---- Products

struct ProductShape {
    int rows, columns, terms; // of pairs
};

using Words = uint32_t[tile_rows][tile_words];

float as_float(uint32_t bits) {
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
}

/** Adds a's products with b to `sums`: of each row the even elements by themselves, in order, and the odd ones. */
__attribute__((noinline, target("avx2,fma"))) void add_products(ProductShape shape, float (&sums)[tile_rows][tile_words], const Words &a,
                                                                const Words &b) {
    constexpr uint32_t high = 0xffff0000;
    float b_even[tile_rows][tile_words], b_odd[tile_rows][tile_words];
    for (int k = 0; k < shape.terms; ++k)
        for (int column = 0; column < tile_words; ++column) {
            b_even[k][column] = as_float(b[k][column] << 16);
            b_odd[k][column] = as_float(b[k][column] & high);
        }
    for (int row = 0; row < shape.rows; ++row) {
        float even[tile_words] = {}, odd[tile_words] = {};
        for (int k = 0; k < shape.terms; ++k) {
            const float a_even = as_float(a[row][k] << 16), a_odd = as_float(a[row][k] & high);
            for (int column = 0; column < tile_words; ++column) {
                even[column] = __builtin_fmaf(a_even, b_even[k][column], even[column]);
                odd[column] = __builtin_fmaf(a_odd, b_odd[k][column], odd[column]);
            }
        }
        for (int column = 0; column < shape.columns; ++column)
            sums[row][column] += even[column] + odd[column];
    }
}

bool multiply(Tiles &tiles, int to, int a, int b) {
    if (!is_configured(tiles, to) || !is_configured(tiles, a) || !is_configured(tiles, b)) return false;
    const uint8_t *rows = tiles.configuration.rows;
    const uint16_t *bytes = tiles.configuration.row_bytes;
    if (to == a || to == b || a == b || rows[to] != rows[a] || bytes[to] != bytes[b] || bytes[a] != 4 * rows[b] || bytes[b] % 4 != 0)
        return false;
    float sums[tile_rows][tile_words];
    Words a_words, b_words;
    std::memcpy(sums, tiles.bytes[to], sizeof(sums));
    std::memcpy(a_words, tiles.bytes[a], sizeof(a_words));
    std::memcpy(b_words, tiles.bytes[b], sizeof(b_words));

    // As the instruction does, whatever the thread's MXCSR is: to the nearest, without exceptions, denormal operands and results as zeros.
    constexpr unsigned flush_results = 1u << 15, masked = 0x3fu << 7, flush_operands = 1u << 6;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(flush_results | masked | flush_operands);
    add_products({rows[to], bytes[to] / 4, rows[b]}, sums, a_words, b_words);
    _mm_setcsr(before);

    std::memcpy(tiles.bytes[to], sums, sizeof(sums));
    return true;
}

// ---- Other instructions of tiles

bool load_configuration(const Operands &operands, Tiles &tiles) {
    if (operands.in_register) return false;
    TileConfiguration configuration;
    std::memcpy(&configuration, operands.address(), sizeof(configuration));
    return tiles.configure(configuration);
}

bool store_configuration(const Operands &operands, const Tiles &tiles) {
    if (operands.in_register) return false;
    std::memcpy(operands.address(), &tiles.configuration, sizeof(tiles.configuration));
    return true;
}

bool zero(Tiles &tiles, int tile) {
    if (!is_configured(tiles, tile)) return false;
    std::memset(tiles.bytes[tile], 0, sizeof(tiles.bytes[tile]));
    return true;
}

/** tileloadd and tilestored: the index is the distance of the rows. */
bool copy(const Operands &operands, Tiles &tiles, bool loads) {
    if (!operands.has_sib || !is_configured(tiles, operands.first)) return false;
    const int row_bytes = tiles.configuration.row_bytes[operands.first];
    if (row_bytes % 4 != 0) return false;
    for (int row = 0; row < tiles.configuration.rows[operands.first]; ++row) {
        auto *memory = reinterpret_cast<uint8_t *>(operands.base + row * operands.index);
        uint8_t *tile = tiles.bytes[operands.first][row];
        std::memcpy(loads ? tile : memory, loads ? memory : tile, row_bytes);
    }
    return true;
}

// ---- Encodings

enum Prefix { none = 0, x66 = 1, xf3 = 2, xf2 = 3 }; // as VEX and EVEX encode it

// VEX.128, map 0F38, W0.
int emulate_vex(const uint8_t *code, const uint64_t (&general)[16], Tiles &tiles) {
    if ((code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0) return 0;
    const Extensions extensions = {code[1] & 0x80 ? 0 : 8, code[1] & 0x40 ? 0 : 8, code[1] & 0x20 ? 0 : 8};
    const int opcode = code[3], modrm = code[4], third = ~code[2] >> 3 & 15, prefix = code[2] & 3;
    if (opcode != 0x49 && opcode != 0x4b && opcode != 0x5c) return 0; // before the bytes after ModRM are read
    const Operands operands = decode_operands(code + 4, extensions, general, 1);

    bool done = false;
    if (opcode == 0x5c) {
        done = prefix == xf3 && operands.in_register && multiply(tiles, operands.first, operands.second, third);
    } else if (third != 0) {
        return 0;
    } else if (opcode == 0x4b) {
        done = prefix != none && !operands.in_register && copy(operands, tiles, prefix != xf3);
    } else if (prefix == none && modrm == 0xc0) {
        done = tiles.configure({});
    } else if (prefix == xf2) {
        done = operands.in_register && operands.second == 0 && zero(tiles, operands.first);
    } else if (operands.first == 0) {
        done = prefix == none ? load_configuration(operands, tiles) : prefix == x66 && store_configuration(operands, tiles);
    }
    return done ? int(operands.next - code) : 0;
}

// EVEX.128.66, map 5, without masks: vmovw.
int emulate_evex(const uint8_t *code, uint64_t (&general)[16], VectorRegisters &vectors) {
    const bool loads = code[4] == 0x6e;
    if ((code[1] & 0xf) != 5 || (code[2] & 0x7f) != 0x7d || code[3] != 8 || (!loads && code[4] != 0x7e)) return 0;
    const Extensions extensions = {code[1] & 0x80 ? 0 : 8, code[1] & 0x40 ? 0 : 8, code[1] & 0x20 ? 0 : 8};
    const Operands operands = decode_operands(code + 5, extensions, general, 2);
    const int vector = operands.first + (code[1] & 0x10 ? 0 : 16);

    if (loads) {
        vectors.set_word(vector, operands.in_register ? uint16_t(general[operands.second]) : read<uint16_t>(operands.address()));
    } else {
        const uint16_t word = vectors.word(vector);
        if (operands.in_register)
            general[operands.second] = word;
        else
            std::memcpy(operands.address(), &word, sizeof(word));
    }
    return int(operands.next - code);
}

} // namespace

bool Tiles::configure(const TileConfiguration &to) {
    TileConfiguration known; // of what `to` says, which must be all of it
    known.palette = to.palette == 0 ? 0 : 1;
    for (int tile = 0; tile < tile_count && known.palette != 0; ++tile) {
        const int rows = to.rows[tile], row_bytes = to.row_bytes[tile];
        if (rows > tile_rows || row_bytes > tile_row_bytes || (rows == 0) != (row_bytes == 0)) return false;
        known.rows[tile] = to.rows[tile], known.row_bytes[tile] = to.row_bytes[tile];
    }
    if (known.palette != 0 && std::memcmp(&known, &to, sizeof(to)) != 0) return false;
    *this = {};
    configuration = known;
    return true;
}

int emulate(const uint8_t *code, uint64_t (&general)[16], VectorRegisters &vectors, Tiles &tiles) {
    if (code[0] == 0xc4) return emulate_vex(code, general, tiles);
    if (code[0] == 0x62) return emulate_evex(code, general, vectors);
    return 0;
}

} // namespace attune::test
