// Tiles in shared memory as products by warpgroups read them: cut into panels of up to 64 channels, one after another, of which each row
// is a line of 32 to 128 bytes. Pieces of 16 bytes are swizzled within their line, as the instruction expects (PTX ISA, "Strides and
// swizzling modes"): eight rows at the same channels then lie in different banks.
#pragma once

#include <Halide.h>

namespace attune::dsl {

struct SwizzledPanels {
    /** The widest that divide rows of `channels`, a multiple of 16. */
    explicit SwizzledPanels(int channels);

    int words; // of a line: 8, 16 or 32, with two channels each
    int count; // of a row

    int line_bytes() const { return 4 * words; }
    /** Bytes from a panel of `rows` rows to the next. */
    int bytes(int rows) const { return line_bytes() * rows; }

    /** The panel of a row's word. */
    Halide::Expr panel_of(const Halide::Expr &word) const { return word / words; }
    /** Where word `word` of row `row` lies in its line; and which word of the panel lies there, since swizzling twice changes nothing. */
    Halide::Expr swizzled(const Halide::Expr &word, const Halide::Expr &row) const;
};

} // namespace attune::dsl
