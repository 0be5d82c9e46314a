// mma.sync, ldmatrix and stmatrix.
//
// In a fragment, lane 4 g + q holds elements 2 q and 2 q + 1 of row g of a matrix of 8 by 8. So a row of registers, lane after lane, is the
// matrix row by row: of A and C in order, of B its transpose.
#include "block.h"
#include "operations.h"
#include "tile_product.h"

namespace attune::emulator {
namespace {

using Widen = void (*)(const void *, float *, int);

/** Rows: d, a, b, c; c and d are four of f32, or two of f16 pairs. */
template <int Depth, bool Brains, bool HalfSums> void multiply(Warp &w, const Instruction &x) {
    require_converged(w, all_lanes);
    constexpr Widen widen = Brains ? widen_brains : widen_halves;
    constexpr uint32_t halves = Depth / 8, sums = HalfSums ? 2 : 4;
    float part[64], a[16 * Depth], b[Depth * 8], product[128];
    for (uint32_t i = 0; i < 2 * halves; ++i) { // of A: rows 8 (i % 2), columns 8 (i / 2)
        widen(w.row<uint32_t>(x.rows[sums + i]), part, 64);
        for (uint32_t g = 0; g < 8; ++g)
            std::memcpy(a + (8 * (i % 2) + g) * Depth + 8 * (i / 2), part + 8 * g, 32);
    }
    for (uint32_t i = 0; i < halves; ++i) {
        widen(w.row<uint32_t>(x.rows[sums + 2 * halves + i]), part, 64);
        transpose8(part, 8, b + 64 * i);
    }
    multiply_tile(a, b, 8, Depth, product);
    const uint32_t *c = x.rows + sums + 3 * halves;
    for (uint32_t i = 0; i < 2; ++i) {
        const float *from = product + 64 * i;
        if constexpr (HalfSums) {
            const uint32_t *addend = w.row<uint32_t>(c[i]);
            uint32_t *d = w.row<uint32_t>(x.rows[i]);
            for (uint32_t lane = 0; lane < warp_size; ++lane) {
                const float low = from[2 * lane] + float_of_half(static_cast<uint16_t>(addend[lane]));
                const float high = from[2 * lane + 1] + float_of_half(static_cast<uint16_t>(addend[lane] >> 16));
                d[lane] = half_of(low) | static_cast<uint32_t>(half_of(high)) << 16;
            }
        } else {
            const float *even = w.row<float>(c[2 * i]), *odd = w.row<float>(c[2 * i + 1]);
            float *d0 = w.row<float>(x.rows[2 * i]), *d1 = w.row<float>(x.rows[2 * i + 1]);
            for (uint32_t lane = 0; lane < warp_size; ++lane) {
                const float first = even[lane] + from[2 * lane], second = odd[lane] + from[2 * lane + 1];
                d0[lane] = first;
                d1[lane] = second;
            }
        }
    }
}

void take_list(Decoder &d, size_t operand, size_t count, bool writes) {
    const auto &elements = d.operand(operand).elements;
    if (elements.size() != count) d.refuse("a fragment has another number of registers than the shape asks for");
    for (const Operand &element : elements)
        writes ? d.write(element, b32, false) : d.read(element, b32);
}

void decode_matrix_multiply(Decoder &d) {
    const int shape = d.one_of({"m16n8k16", "m16n8k8"});
    if (!d.has("sync") || !d.has("aligned") || shape < 0 || !d.has("row") || !d.has("col") || d.operands() != 4) d.refuse();
    const bool half_sums = d.type(0) == f16, brains = d.type(1) == bf16;
    const bool known = d.types() == 4 && (d.type(1) == bf16 || d.type(1) == f16) && d.type(2) == d.type(1) && d.type(3) == d.type(0) &&
                       (half_sums ? !brains : d.type(0) == f32);
    if (!known) d.refuse();
    const size_t halves = shape == 0 ? 2 : 1, sums = half_sums ? 2 : 4;
    take_list(d, 0, sums, true);
    take_list(d, 1, 2 * halves, false);
    take_list(d, 2, halves, false);
    take_list(d, 3, sums, false);
    if (shape == 0) {
        d.out.run = half_sums ? multiply<16, false, true> : brains ? multiply<16, true, false> : multiply<16, false, false>;
    } else {
        d.out.run = half_sums ? multiply<8, false, true> : brains ? multiply<8, true, false> : multiply<8, false, false>;
    }
}

/** The places of the rows of the matrices, whose addresses the first lanes hold. */
void find_rows(Warp &w, const Instruction &x, Access access, Places &places) {
    require_converged(w, all_lanes);
    w.exec = x.count == 4 ? all_lanes : (1u << 8 * x.count) - 1;
    w.block->resolve(w, x, 0, 16, 16, access, places);
    w.exec = all_lanes;
}

void transpose_halves(uint16_t *matrix) {
    for (uint32_t i = 0; i < 8; ++i) {
        for (uint32_t j = i + 1; j < 8; ++j)
            std::swap(matrix[8 * i + j], matrix[8 * j + i]);
    }
}

template <bool Transposes> void load_matrices(Warp &w, const Instruction &x) {
    Places places;
    find_rows(w, x, Access::read, places);
    uint16_t matrix[64];
    for (uint32_t i = 0; i < x.count; ++i) {
        for (uint32_t row = 0; row < 8; ++row)
            std::memcpy(matrix + 8 * row, places.at[8 * i + row], 16);
        if (Transposes) transpose_halves(matrix);
        std::memcpy(w.row<uint32_t>(x.rows[1 + i]), matrix, sizeof matrix);
    }
}

template <bool Transposes> void store_matrices(Warp &w, const Instruction &x) {
    Places places;
    find_rows(w, x, Access::write, places);
    uint16_t matrix[64];
    for (uint32_t i = 0; i < x.count; ++i) {
        std::memcpy(matrix, w.row<uint32_t>(x.rows[1 + i]), sizeof matrix);
        if (Transposes) transpose_halves(matrix);
        for (uint32_t row = 0; row < 8; ++row)
            std::memcpy(places.at[8 * i + row], matrix + 8 * row, 16);
    }
}

void decode_matrices(Decoder &d, bool loads) {
    const int number = d.one_of({"x1", "x2", "x4"});
    if (!d.has("sync") || !d.has("aligned") || !d.has("m8n8") || number < 0 || !(d.type() == b16)) d.refuse();
    if (d.one_of({"shared", "shared::cta"}) < 0) d.out.generic = true;
    d.out.space = Space::shared;
    d.out.count = 1u << number;
    d.address(loads ? 1 : 0);
    const Operand &list = d.operand(loads ? 0 : 1);
    if (list.elements.size() == d.out.count) {
        take_list(d, loads ? 0 : 1, d.out.count, loads);
    } else {
        d.refuse("the number of registers is not that of the matrices");
    }
    const bool transposes = d.has("trans");
    if (loads) {
        d.out.run = transposes ? load_matrices<true> : load_matrices<false>;
    } else {
        d.out.run = transposes ? store_matrices<true> : store_matrices<false>;
    }
}

} // namespace

void add_matrix_opcodes(DecodeTable &table) {
    table["mma"] = decode_matrix_multiply;
    table["ldmatrix"] = [](Decoder &d) { decode_matrices(d, true); };
    table["stmatrix"] = [](Decoder &d) { decode_matrices(d, false); };
}

} // namespace attune::emulator
