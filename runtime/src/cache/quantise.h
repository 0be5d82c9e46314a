// Rows of keys and values as int8 with one scale each.
#pragma once

#include <cstdint>

#include "attune/attune.h"

namespace attune::runtime {

/** Writes x, `width` elements of type f32, f16 or bf16, as x / scale rounded to nearest, ties to even, and returns the scale: max |x| /
 * 127. Of a row that has a NaN or an Inf the scale is NaN and every element 0, so that it reads as NaN throughout. */
float quantise_row(const void *x, attune_type type, int64_t width, int8_t *quantised);

} // namespace attune::runtime
