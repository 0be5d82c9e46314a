// Attention in float64 with plain loops, to check a timed kernel against.
#pragma once

#include "bench/cases.h"
#include "bench/workload.h"

namespace attune::bench {

/** The largest |out - float64| over a sample of output rows that includes the first and the last, divided by max |v|.
 * Infinity where either is NaN and the other isn't. Rows are spread evenly, as many as some 0.2 s allow. */
double max_error(const Case &c, const Workload &workload);

} // namespace attune::bench
