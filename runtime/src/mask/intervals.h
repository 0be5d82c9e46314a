// Sets of keys as sorted intervals that are disjoint and don't touch: the algebra that masks are worked out in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::runtime {

/** Keys begin <= j < end, not empty. */
struct Interval {
    int32_t begin;
    int32_t end;
};

// Each writes a set to `out`, which must not overlap the arguments, and returns its size.

/** At most a_size + b_size - 1 intervals. */
size_t intersect(const Interval *a, size_t a_size, const Interval *b, size_t b_size, Interval *out);
/** At most a_size + b_size intervals. */
size_t unite(const Interval *a, size_t a_size, const Interval *b, size_t b_size, Interval *out);
/** The keys of [0, universe) that aren't in `a`, which lies within it; at most size + 1 intervals. */
size_t complement(const Interval *a, size_t size, int32_t universe, Interval *out);

} // namespace attune::runtime
