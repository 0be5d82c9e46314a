// The textual mask language, evaluated cell by cell: written from its meaning, sharing no code with what is tested.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace attune::test {

/** True where query i may attend key j. */
using CellPredicate = std::function<bool(int64_t i, int64_t j)>;

/**
 * The predicate of a textual mask over `queries` x `keys`; a term that names no alignment takes `offset`, or 0 where there is
 * none and queries == keys. Throws std::invalid_argument on text that means nothing.
 */
CellPredicate mask_from_text(const std::string &text, int64_t queries, int64_t keys, std::optional<int64_t> offset);

} // namespace attune::test
