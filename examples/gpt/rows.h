// What is done to rows one by one: looking up embeddings, and normalising. Plain loops over f32 or bf16; sums are f64.
#pragma once

#include <cstdint>
#include <vector>

#include <attune/attune.hpp>

namespace gpt {

/** Layer norm (Ba et al., arXiv 1607.06450); RMS norm (Zhang and Sennrich, arXiv 1910.07467) where there is no bias. */
struct Norm {
    std::vector<float> weight, bias; // [width]
    float epsilon = 1e-5f;
};

/** y = norm(x), both [items, tokens, width], rows contiguous and y apart from x. */
void normalise(const Norm &norm, const attune_tensor &x, const attune_tensor &y);

/** Row i of y [count, width] = table[ids[i]], plus positions[first + i] where there are positions. Throws an Error for ids outside. */
void look_up(const int32_t *ids, const attune_tensor &table, const attune_tensor *positions, int64_t first, const attune_tensor &y);

} // namespace gpt
