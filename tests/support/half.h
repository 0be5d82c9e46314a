// Floats of 16 bits: f16 (IEEE binary16) and bf16 (the upper half of an f32).
#pragma once

#include <cstdint>

#include "attune/attune.h"
#include "tensor.h"

namespace attune::test {

/** The nearest value of the type, one of these or f32, ties to even; infinity past its range. */
double round_to(attune_type type, double value);

uint16_t half_bits(attune_type type, float value);
float half_value(attune_type type, uint16_t bits);

/** The distance from |magnitude| to the next larger value of the type. */
double half_ulp(attune_type type, double magnitude);

/** NaNs of a type of 16 bits, of both signs: quiet and signalling ones, whose payloads reach from the least to all ones. */
std::vector<uint16_t> half_nans(attune_type type);

/** Contiguous [..] of the type's bits, and a view of it as that type. */
struct HalfTensor {
    HalfTensor(attune_type type, const Tensor<float> &values);
    attune_tensor view() const;
    std::vector<double> values() const;

    attune_type type;
    Extents extent;
    std::vector<uint16_t> bits;
};

} // namespace attune::test
