// The golden files that make.py wrote, and the formula of the inputs they belong to.
#pragma once

#include <string>
#include <vector>

#include "tensor.h"

namespace attune::test {

/** make.py's numbers(): float32 in [-scale, scale), the same bits. `scale` is a power of two. */
Tensor<float> numbers(uint32_t seed, const Extents &extents, float scale = 1);

/** make.py's mask_of(): about two in three are true, and so is the first of every row. */
Tensor<uint8_t> mask_of(uint32_t seed, const Extents &extents);

/** make.py's padding(): true from an item's length on. */
Tensor<uint8_t> padding(const std::vector<int64_t> &lengths, int64_t keys);

/** The six tokens of "Your journey starts with one step", [1, 6, 3]. */
Tensor<float> journey();

/** A file of a case, whose shape must be `extents`: an exception otherwise. */
std::vector<double> golden_file(const std::string &name, const Extents &extents);

} // namespace attune::test
