// ALiBi's slopes and T5's buckets, from their authors' formulas.
#pragma once

#include <cstdint>
#include <vector>

namespace attune::test {

/** The slopes as ALiBi's authors' code builds them: a list of powers for a power of two, and for other numbers the list of the next lower
 * power of two, followed by every second element of the list of the next higher. */
std::vector<double> slopes_in_double(int64_t heads);

struct T5 {
    int64_t buckets, max_distance;
    bool bidirectional;
};

/** The bucket of a key `relative` positions after its query, in whole numbers of any size: no logarithm is rounded. */
int64_t t5_bucket_in_integers(int64_t relative, const T5 &t5);

/** The same with every step in float32, as the models that use it work it out. */
int64_t t5_bucket_in_float(int64_t relative, const T5 &t5);

} // namespace attune::test
