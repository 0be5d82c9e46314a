// Matrices A (seed 1) and B (seed 2) of small whole numbers, whose products are exact.
#pragma once

#include "kernel.h"

namespace attune::test {

/** A number that differs from place to place. */
inline int entry(uint32_t row, uint32_t column, uint32_t seed) {
    return static_cast<int>((row * 7 + column * 13 + seed * 5 + row * column) % 9) - 4;
}

/** Of A and B, of the first `depth` columns and rows. */
inline int product(uint32_t row, uint32_t column, uint32_t depth) {
    int sum = 0;
    for (uint32_t k = 0; k < depth; ++k)
        sum += entry(row, k, 1) * entry(k, column, 2);
    return sum;
}

} // namespace attune::test
