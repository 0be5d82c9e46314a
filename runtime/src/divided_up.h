// Quotients that are rounded up.
#pragma once

#include <cstdint>

namespace attune::runtime {

/** How many parts of `size` hold `count`; the last may hold less. */
constexpr int64_t divided_up(int64_t count, int64_t size) { return (count + size - 1) / size; }

} // namespace attune::runtime
