// Attention over two sets of keys from the results over each, by plain loops in float64.
#pragma once

#include <vector>

#include "tensor.h"

namespace attune::test {

/** A result over one set of keys: [B,H,N,Dv] and [B,H,N]. */
struct PartialResult {
    Tensor<float> out, lse;
};

/** In C order. */
struct MergedResult {
    std::vector<double> out, lse;
};

MergedResult merge_in_double(const PartialResult &a, const PartialResult &b);

} // namespace attune::test
