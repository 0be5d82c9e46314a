// Products of matrices in tile registers (Intel's AMX), which Halide 21 makes for one tile at a time, and of layouts that its own types
// describe.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::schedules::x86 {

constexpr int tile_rows = 16, tile_columns = 16; // of f32
constexpr int tile_words = 16;                   // pairs of bf16 that one instruction adds up for each element

/** Turns loops that add vdpbf16ps() of single pairs to a Func, stored in memory and zero before, into products of tiles: for
 *     f(row, column) = vdpbf16ps(f(row, column), b(word, column), a(row, word))
 * in loops over whole tiles of rows, columns and words, of which a's words, b's columns and f's columns lie side by side. Columns may be in
 * blocks, over which there is a loop, too, and words in two loops if one goes on where the other ends. a may be read by words_from(), where
 * it lies. The sums are in registers from the first term to the last, and stored once. Loops further out, whose variables f doesn't have,
 * add up more terms. What with_prefetch() asks for with a term, whatever its row, is asked for with the product of its column's tile.
 * Of each 32 terms the even and the odd ones are added up apart, then to one another, then to the sum, rounding to f32 each time; denormal
 * numbers count as zeros (Intel 64 and IA-32 Architectures Software Developer's Manual, TDPBF16PS). What is stored may be the sum of
 * several products, vdpbf16ps(vdpbf16ps(f(row, column), b, a), b', a'), of matrices that lie alike: of each tile's terms one after the
 * other.
 *
 * Add it by Pipeline::add_custom_lowering_pass, for targets with AMX. It takes every such loop, and refuses others by CompileError. */
class TileProducts : public Halide::Internal::IRMutator {
protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::ProducerConsumer *op) override;
};

} // namespace attune::schedules::x86
