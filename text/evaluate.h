// What a mask says about given cells, worked out one by one: for showing masks, and for judging other code. Kernels don't use it.
#pragma once

#include <functional>

#include "mask.h"

namespace attune::text {

/** One cell and all that the terms of a mask may ask about it. What no term asks for needs no value. */
struct MaskCell {
    int64_t query = 0, key = 0;
    int64_t queries = 0, keys = 0;                                      // N and M, for bottom_right
    int64_t offset = 0;                                                 // key position of query 0, for terms that name no alignment
    const int64_t *parameters = nullptr;                                // values of Mask::parameters
    int64_t length = 0;                                                 // for lengths
    const int64_t *query_documents = nullptr, *key_documents = nullptr; // [N] and [M], for documents
    std::function<bool(int64_t query_block, int64_t key_block)> block;  // for blocks
    std::function<bool(int64_t query, int64_t key)> tensor;             // for tensor
};

/** Whether the query may attend to the key. */
bool allows(const MaskNode &node, const MaskCell &cell);

/** The same for the keys from cell.key to cell.key + count - 1, as 1 or 0. */
void allows(const MaskNode &node, const MaskCell &cell, int64_t count, uint8_t *result);

} // namespace attune::text
