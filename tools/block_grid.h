// A mask cut into blocks of queries x keys: which are empty, partial and full.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace attune::tools {

struct BlockSize {
    int64_t queries, keys;
};

enum class BlockKind : uint8_t { empty, partial, full };

class BlockGrid {
public:
    BlockGrid(int64_t queries, int64_t keys, BlockSize size);

    /** The next row of cells, in order: 1 where the key is attended. */
    void add_row(const uint8_t *allowed);

    int64_t queries() const { return queries_; }
    int64_t keys() const { return keys_; }
    const BlockSize &size() const { return size_; }
    int64_t rows() const { return (queries_ - 1) / size_.queries + 1; }
    int64_t columns() const { return (keys_ - 1) / size_.keys + 1; }
    BlockKind kind(int64_t row, int64_t column) const { return kinds_[static_cast<std::size_t>(row * columns() + column)]; }

    /** Cells that attend. */
    int64_t attended() const { return attended_; }
    int64_t count(BlockKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

    /** A row of blocks as text: '.' empty, '+' partial, '#' full. */
    std::string line(int64_t row) const;

private:
    void finish_row();

    int64_t queries_, keys_;
    BlockSize size_;
    int64_t next_query_ = 0, attended_ = 0;
    std::vector<int64_t> cells_; // attended in the row of blocks at hand
    std::vector<BlockKind> kinds_;
    std::array<int64_t, 3> counts_{}; // of blocks, by kind
};

} // namespace attune::tools
