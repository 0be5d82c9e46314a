#include "block_grid.h"

#include <algorithm>
#include <numeric>

namespace attune::tools {

BlockGrid::BlockGrid(int64_t queries, int64_t keys, BlockSize size)
    : queries_(queries), keys_(keys), size_(size), cells_(static_cast<std::size_t>(columns())) {
    kinds_.reserve(static_cast<std::size_t>(rows() * columns()));
}

void BlockGrid::add_row(const uint8_t *allowed) {
    for (int64_t column = 0; column < columns(); ++column) {
        const int64_t first = column * size_.keys, end = std::min(first + size_.keys, keys_);
        cells_[static_cast<std::size_t>(column)] += std::accumulate(allowed + first, allowed + end, int64_t(0));
    }
    if (++next_query_ % size_.queries == 0 || next_query_ == queries_) finish_row();
}

void BlockGrid::finish_row() {
    const int64_t height = (next_query_ - 1) % size_.queries + 1;
    for (int64_t column = 0; column < columns(); ++column) {
        int64_t &attended = cells_[static_cast<std::size_t>(column)];
        const int64_t width = std::min(size_.keys, keys_ - column * size_.keys);
        const BlockKind kind = attended == 0 ? BlockKind::empty : attended < height * width ? BlockKind::partial : BlockKind::full;
        kinds_.push_back(kind);
        ++counts_[static_cast<std::size_t>(kind)];
        attended_ += attended;
        attended = 0;
    }
}

std::string BlockGrid::line(int64_t row) const {
    std::string text;
    for (int64_t column = 0; column < columns(); ++column)
        text += ".+#"[static_cast<std::size_t>(kind(row, column))];
    return text;
}

} // namespace attune::tools
