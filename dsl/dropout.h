// Dropout of attention weights by a counter-based generator: the same weights whatever computes them, and in whatever order.
#pragma once

#include <array>

#include <Halide.h>

#include "dsl/mask.h"

namespace attune::dsl {

/** Which weights are dropped: those whose random word is below `threshold` = floor(p 2^32), so 0 drops none. The word of a cell is word
 * `key % 4` of Philox 4x32-10 with the key (seed_low, seed_high) and the counter (key / 4, query, head, batch). */
struct Dropout {
    static constexpr int keys_of_counter = 4;    // keys, one after the other, that take their words from one counter
    Halide::Expr threshold, seed_low, seed_high; // u32

    Halide::Expr used() const;
    /** 1 where the weight is kept, 0 where it is dropped. */
    Halide::Expr keeps(const Cell &cell) const;
    /** 1 / (1 - p). */
    Halide::Expr scale() const;
};

/** Four u32. */
using Words = std::array<Halide::Expr, 4>;

/** Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3). All u32. */
Words philox(const Words &counter, const std::array<Halide::Expr, 2> &key);

} // namespace attune::dsl
