// Quotients that are rounded up.
#pragma once

#include <cstdint>

namespace attune::runtime {

/** How many parts of `size`, 1 or more, hold `count`, 0 or more; the last may hold less. No sum that could overflow. */
constexpr int64_t divided_up(int64_t count, int64_t size) { return count / size + (count % size != 0); }

} // namespace attune::runtime
