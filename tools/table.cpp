#include "table.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace attune::tools {
namespace {

std::string line(const std::vector<std::string> &cells, const std::vector<Align> &align, const std::vector<std::size_t> &width) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
        text += c ? "  " : "";
        text += align[c] == Align::left ? fmt::format("{:<{}}", cells[c], width[c]) : fmt::format("{:>{}}", cells[c], width[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

} // namespace

void Table::print() const {
    std::vector<std::size_t> width(heading.size());
    for (std::size_t c = 0; c < heading.size(); ++c) {
        width[c] = heading[c].size();
        for (const auto &row : rows)
            width[c] = std::max(width[c], row[c].size());
    }
    fmt::print("{}\n", line(heading, align, width));
    for (const auto &row : rows)
        fmt::print("{}\n", line(row, align, width));
}

} // namespace attune::tools
