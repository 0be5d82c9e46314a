// Products of the small matrices of mma and wgmma, in float.
#pragma once

#include <cstdint>

#include "halves.h"

namespace attune::emulator {

/** Widens 16-bit floats, `count` a multiple of 8. */
void widen_halves(const void *from, float *to, int count);
void widen_brains(const void *from, float *to, int count);

/** [8 rows][8] to its transpose; rows of the source are `step` floats apart, those of the result 8. */
void transpose8(const float *from, int step, float *to);

/** sum[16][8] = a[16][depth] * b[depth][8], rows of b `step` floats apart. */
void multiply_tile(const float *a, const float *b, int step, int depth, float *sum);

} // namespace attune::emulator
