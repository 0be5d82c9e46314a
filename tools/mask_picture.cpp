#include "mask_picture.h"

#include <algorithm>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace attune::tools {
namespace {

constexpr int max_columns = 100;
constexpr int64_t max_cell_lines = 64, max_block_lines = 40;

std::size_t label_width(int64_t queries) { return std::max<std::size_t>(5, fmt::formatted_size("{}", queries - 1)); }

/** The least power of two that cuts the extent into at most `room` parts. */
int64_t step_for(int64_t extent, int64_t room) {
    int64_t step = 1;
    while ((extent - 1) / step + 1 > room)
        step *= 2;
    return step;
}

/** Each run of equal signs in its colour. */
std::string coloured(const std::string &line) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (i == 0 || line[i] != line[i - 1]) text += line[i] == '#' ? "\033[0;34m" : line[i] == '+' ? "\033[0;33m" : "\033[0;2m";
        text += line[i];
    }
    return text + "\033[0m";
}

} // namespace

BlockSize cells_a_character(int64_t queries, int64_t keys, int columns) {
    const int64_t room = std::max<int64_t>(8, columns - static_cast<int64_t>(label_width(queries)) - 1);
    if (queries <= max_cell_lines && keys <= room) return {1, 1};
    return {step_for(queries, max_block_lines), step_for(keys, room)};
}

int terminal_columns() {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? std::min<int>(size.ws_col, max_columns) : max_columns;
}

bool colours_wanted() {
    const char *no_colour = std::getenv("NO_COLOR");
    return ::isatty(STDOUT_FILENO) && !(no_colour && *no_colour);
}

std::string text_picture(const BlockGrid &grid, bool colours) {
    const std::size_t width = label_width(grid.queries());
    std::string text = fmt::format("{:>{}} keys 0 to {}\n", "query", width, grid.keys() - 1);
    for (int64_t row = 0; row < grid.rows(); ++row) {
        const std::string line = grid.line(row);
        text += fmt::format("{:>{}} {}\n", row * grid.size().queries, width, colours ? coloured(line) : line);
    }
    return text;
}

} // namespace attune::tools
