#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "mask_picture.h"
#include "xml.h"

namespace attune::tools {
namespace {

constexpr int64_t most_cells = 64, most_marks = 512; // along an axis
constexpr double longest_side = 480, shortest_side = 24, largest_cell = 20, margin = 12, line_height = 20;

// Of middling lightness, so that they show on light and dark ground.
constexpr const char *blue = "#3b82f6", *amber = "#f59e0b", *grey = "#808080";

/** The blocks of one kind, each run along a row as one rectangle, in units of cells. */
std::string runs(const BlockGrid &grid, BlockKind kind) {
    std::string path;
    for (int64_t row = 0; row < grid.rows(); ++row) {
        const int64_t top = row * grid.size().queries, bottom = std::min(top + grid.size().queries, grid.queries());
        for (int64_t column = 0; column < grid.columns(); ++column) {
            const int64_t begin = column;
            while (column < grid.columns() && grid.kind(row, column) == kind)
                ++column;
            if (column == begin) continue;
            const int64_t left = begin * grid.size().keys, right = std::min(column * grid.size().keys, grid.keys());
            path += fmt::format("M{} {}h{}v{}h{}z", left, top, right - left, bottom - top, left - right);
        }
    }
    return path;
}

std::string filled(const BlockGrid &grid, BlockKind kind, const char *colour, double opacity) {
    const std::string path = runs(grid, kind);
    return path.empty() ? "" : fmt::format("<path fill=\"{}\" fill-opacity=\"{}\" d=\"{}\"/>\n", colour, opacity, path);
}

/** Lines between blocks, and around all; their width in cells. */
std::string borders(const BlockGrid &grid, double width, double opacity) {
    std::string path;
    for (int64_t row = 0; row <= grid.rows(); ++row)
        path += fmt::format("M0 {}h{}", std::min(row * grid.size().queries, grid.queries()), grid.keys());
    for (int64_t column = 0; column <= grid.columns(); ++column)
        path += fmt::format("M{} 0v{}", std::min(column * grid.size().keys, grid.keys()), grid.queries());
    return fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-opacity=\"{}\" stroke-width=\"{:.3g}\" d=\"{}\"/>\n", grey, opacity, width,
                       path);
}

std::string text_at(double x, double y, const std::string &text, const char *attributes = "") {
    return fmt::format("<text x=\"{:g}\" y=\"{:g}\"{}>{}</text>\n", x, y, attributes, escaped(text));
}

/** Width and height of the picture, in pixels. */
struct Extent {
    double width, height;
};

Extent extent_of(const BlockGrid &grid) {
    const double longest = static_cast<double>(std::max(grid.queries(), grid.keys()));
    const double scale = std::min(largest_cell, longest_side / longest);
    const auto side = [&](int64_t cells) { return std::max(std::round(scale * static_cast<double>(cells)), shortest_side); };
    return {side(grid.keys()), side(grid.queries())};
}

std::string legend(const BlockGrid &blocks, double y) {
    struct Entry {
        BlockKind kind;
        const char *name, *colour;
        double opacity;
    };
    std::string text;
    double x = margin;
    for (const Entry &entry : {Entry{BlockKind::full, "full", blue, 0.6}, Entry{BlockKind::partial, "partial", amber, 0.6},
                               Entry{BlockKind::empty, "empty", grey, 0.2}}) {
        text += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"10\" height=\"10\" fill=\"{}\" fill-opacity=\"{}\"/>\n", x, y - 9,
                            entry.colour, entry.opacity);
        const std::string label = fmt::format("{} {}", blocks.count(entry.kind), entry.name);
        text += text_at(x + 14, y, label);
        x += 28 + 7 * static_cast<double>(label.size());
    }
    return text;
}

/** Cells that attend, over blocks shaded by kind. A pixel is `pixel` cells wide. */
std::string cells_picture(const BlockGrid &cells, const BlockGrid &blocks, double pixel) {
    return filled(blocks, BlockKind::full, blue, 0.3) + filled(blocks, BlockKind::partial, amber, 0.3) +
           filled(blocks, BlockKind::empty, grey, 0.12) + filled(cells, BlockKind::full, blue, 0.75) + borders(cells, 0.5 * pixel, 0.35) +
           borders(blocks, 1.5 * pixel, 0.9);
}

std::string marks_picture(const BlockGrid &marks) {
    return filled(marks, BlockKind::full, blue, 0.75) + filled(marks, BlockKind::partial, amber, 0.75) +
           filled(marks, BlockKind::empty, grey, 0.12);
}

} // namespace

BlockSize cells_a_mark(int64_t queries, int64_t keys, const BlockSize &block) {
    if (std::max(queries, keys) <= most_cells) return {1, 1};
    const auto whole = [](int64_t extent, int64_t size) { return size * (((extent - 1) / size + most_marks) / most_marks); };
    return {whole(queries, block.queries), whole(keys, block.keys)};
}

std::string svg_picture(const std::string &title, const BlockGrid &marks, const BlockGrid &blocks) {
    const Extent extent = extent_of(marks);
    const bool of_cells = marks.size().queries == 1 && marks.size().keys == 1;
    const std::string sizes = fmt::format("{} queries (down) x {} keys (across), blocks of {} x {}", marks.queries(), marks.keys(),
                                          blocks.size().queries, blocks.size().keys);
    const double top = 3 * line_height - 4, bottom = top + extent.height + line_height;
    const double text_width = 7.5 * static_cast<double>(std::max(title.size() + title.size() / 4, sizes.size()));
    const double width = 2 * margin + std::max(extent.width, text_width), height = bottom + margin;

    std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
                                  "font-family=\"sans-serif\" font-size=\"12\" fill=\"{2}\">\n<title>{3}</title>\n",
                                  width, height, grey, escaped(title));
    svg += text_at(margin, line_height, title, " font-size=\"15\" font-family=\"monospace\"") + text_at(margin, 2 * line_height, sizes);
    const double scale_x = extent.width / static_cast<double>(marks.keys()), scale_y = extent.height / static_cast<double>(marks.queries());
    svg += fmt::format("<g transform=\"translate({:g} {:g}) scale({:g} {:g})\">\n", margin, top, scale_x, scale_y);
    svg += (of_cells ? cells_picture(marks, blocks, 1 / std::sqrt(scale_x * scale_y)) : marks_picture(marks)) + "</g>\n";
    return svg + legend(blocks, bottom) + "</svg>\n";
}

} // namespace attune::tools
