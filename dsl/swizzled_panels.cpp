#include "dsl/swizzled_panels.h"

#include "dsl/warp.h"

namespace attune::dsl {

using Halide::Expr;

namespace {

constexpr int words_a_piece = 4, words_a_bank_line = 32; // 16 bytes; 128 bytes, in which no two words share a bank

} // namespace

SwizzledPanels::SwizzledPanels(int channels) : words(channels % 64 == 0 ? 32 : channels % 32 == 0 ? 16 : 8), count(channels / 2 / words) {}

Expr SwizzledPanels::swizzled(const Expr &word, const Expr &row) const {
    const int pieces = words / words_a_piece;
    const Expr line = simplify(row / (words_a_bank_line / words) % pieces);
    if (Halide::Internal::is_const_zero(line)) return word % words;
    return warp::exclusive_or(word / words_a_piece % pieces, line, pieces - 1) * words_a_piece + word % words_a_piece;
}

} // namespace attune::dsl
