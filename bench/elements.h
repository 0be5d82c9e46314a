// Arrays of elements of a type, in buffers of floats.
#pragma once

#include <cstdint>
#include <random>

#include "attune/attune.h"
#include "bench/buffer.h"

namespace attune::bench {

/** `count` normally distributed numbers that the type holds, as f32. */
Buffer normal(int64_t count, attune_type type, std::mt19937_64 &random, float deviation = 1);

/** f32 values as the type. */
Buffer stored(const Buffer &values, attune_type type, int64_t count);

/** An output with all its pages present, so that the first call's time is a call's time. */
Buffer zeros(attune_type type, int64_t count);

/** Element `index` of an array of the type. */
float element(const Buffer &buffer, attune_type type, int64_t index);

/** Fills an array of the type with NaN: what a kernel doesn't write must not pass. */
void spoil(const Buffer &buffer, attune_type type, int64_t count);

} // namespace attune::bench
