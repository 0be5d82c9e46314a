// Philox 4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3; SC11), from the paper's description.
#pragma once

#include <array>
#include <cstdint>

namespace attune::test {

/** Four words for a counter and a key. */
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/** Whether dropout of probability p drops the weight of key j for query i: word j % 4 of counter (j / 4, i, head, batch) under the seed is
 * below p 2^32. */
bool is_dropped(float p, uint64_t seed, int64_t batch, int64_t head, int64_t i, int64_t j);

} // namespace attune::test
