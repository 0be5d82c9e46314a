// What rows should be, in float64.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace attune::bench {

using Exact = std::vector<double>;

/** Of scores; `log`: its logarithm. */
Exact exact_softmax(Exact scores, bool log = false);

/** Layer norm without weights (Ba et al., arXiv 1607.06450); or, not centred, RMS norm (Zhang and Sennrich, arXiv 1910.07467). */
Exact exact_norm(Exact x, bool centred, double epsilon);

/** The largest |got(row, column) - exact(row)[column]| over at most `checked` rows, the first, the last and some between, relative to the
 * largest exact value in them; NaN if one was got. */
double largest_error(int64_t rows, int64_t checked, const std::function<Exact(int64_t row)> &exact,
                     const std::function<double(int64_t row, int64_t column)> &got);

} // namespace attune::bench
