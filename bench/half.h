// Floats of 16 bits: f16 (IEEE binary16) and bf16 (the upper half of an f32).
#pragma once

#include <cstdint>

#include "attune/attune.h"

namespace attune::bench {

/** The bits of the number of the type, f16 or bf16, that is nearest to a finite value; ties to even, infinity past its range. */
uint16_t half_bits(attune_type type, float value);

/** The value of such bits. */
float half_value(attune_type type, uint16_t bits);

} // namespace attune::bench
