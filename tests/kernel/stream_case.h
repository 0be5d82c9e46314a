// Rows that go past the caches, and the memory they are in.
#pragma once

#include <array>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "attune/attune.hpp"

namespace attune::test {

struct StreamCase {
    const char *operation;
    attune_type type;
    int64_t heads, rows, columns, padding; // elements after each row; short rows without any go together
    int64_t first;                         // elements before all
    bool rows_first = false;               // row by row of all heads, rather than head by head
    int64_t turned = 0;                    // by rotary embedding, of the columns; 0: all
};

void PrintTo(const StreamCase &c, std::ostream *stream) {
    *stream << c.operation << ' ' << c.heads << " x " << c.rows << " x " << c.columns << " + " << c.padding << " from " << c.first
            << (c.rows_first ? ", rows first" : "") << (c.turned > 0 ? ", of which turn " + std::to_string(c.turned) : "");
}

struct alignas(64) Line {
    std::array<char, 64> bytes;
};
constexpr Line untouched = [] {
    Line line = {};
    for (char &byte : line.bytes)
        byte = '\xff';
    return line;
}();

/** Rows of a case in memory of its own that begins a line, whose every byte is 0xff at first. */
struct Rows {
    explicit Rows(const StreamCase &c)
        : type(c.type), rows(c.rows), columns(c.columns), of_head(c.columns + c.padding), of_row(of_head), first(c.first),
          size(static_cast<int64_t>(attune_type_size(type))), bytes((c.heads * rows * of_row + first) * size),
          lines(static_cast<size_t>(bytes / 64 + 1), untouched) {
        (c.rows_first ? of_row *= c.heads : of_head *= rows);
    }

    char *begin() { return lines.front().bytes.data(); }
    char *row(int64_t head, int64_t row) { return begin() + (head * of_head + row * of_row + first) * size; }
    TensorView heads(int64_t from, int64_t count) {
        TensorView view(row(from, 0), type, {count, rows, columns});
        view.stride[0] = of_head, view.stride[1] = of_row;
        return view;
    }
    bool operator==(const Rows &other) const { return std::memcmp(lines.data(), other.lines.data(), lines.size() * sizeof(Line)) == 0; }

    attune_type type;
    int64_t rows, columns, of_head, of_row, first, size, bytes; // strides of heads and rows
    std::vector<Line> lines;
};

} // namespace attune::test
