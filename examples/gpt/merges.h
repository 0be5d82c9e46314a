// Byte pair encoding (Sennrich, Haddow and Birch, arXiv 1508.07909, section 3.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gpt {

/** The learned merges of two neighbouring tokens into one. */
class Merges {
public:
    /** Adds one; those added earlier come first. A pair that is there already keeps its rank. */
    void add(int32_t left, int32_t right, int32_t merged);

    /** Merges tokens until no neighbours can be: of all pairs the one learned first, and of equals the leftmost. n log n for n tokens. */
    std::vector<int32_t> apply(const std::vector<int32_t> &tokens) const;

private:
    struct Merge {
        int32_t rank, merged;
    };
    const Merge *find(int32_t left, int32_t right) const;

    std::unordered_map<uint64_t, Merge> merges_;
};

} // namespace gpt
