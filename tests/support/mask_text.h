// The textual mask language, evaluated cell by cell: written from its meaning, sharing no code with what is tested.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::test {

/** True where query i may attend key j. */
using CellPredicate = std::function<bool(int64_t i, int64_t j)>;

/** What the terms documents, lengths, blocks and tensor read, of one batch item and head. */
struct MaskData {
    std::vector<int64_t> query_documents, key_documents;
    int64_t length = 0;
    CellPredicate block, tensor; // of a block of queries and one of keys; of a query and a key
};

/**
 * The predicate of a textual mask over `queries` x `keys`; a term that names no alignment takes `offset`, or 0 where there is
 * none and queries == keys. Throws std::invalid_argument on text that means nothing.
 */
CellPredicate mask_from_text(const std::string &text, int64_t queries, int64_t keys, std::optional<int64_t> offset,
                             const MaskData &data = {});

} // namespace attune::test
