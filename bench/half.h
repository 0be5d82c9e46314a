// Floats of 16 bits: f16 (IEEE binary16) and bf16 (the upper half of an f32).
#pragma once

#include <cstdint>

#include "attune/attune.h"

namespace attune::bench {

/** Bytes of an element: 4 for f32, 2 for f16 and bf16. */
inline int64_t element_bytes(attune_type type) { return type == ATTUNE_F32 ? 4 : 2; }

/** "f32", "f16" or "bf16". */
const char *name_of_type(attune_type type);

/** The bits of the number of the type, f16 or bf16, that is nearest to a finite value; ties to even, infinity past its range. */
uint16_t half_bits(attune_type type, float value);

/** The value of such bits. */
float half_value(attune_type type, uint16_t bits);

} // namespace attune::bench
