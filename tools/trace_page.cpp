#include "trace_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpt/unicode.h"
#include "xml.h"

namespace attune::tools {
namespace {

constexpr double margin = 16, line_height = 20, largest_cell = 16, smallest_cell = 4, widest_panel = 480;

/** Sizes in pixels. Labels of tokens stand left of a panel's cells and above them. */
struct Layout {
    int64_t count;
    double cell, label, panel;

    explicit Layout(const Trace &trace) : count(static_cast<int64_t>(trace.tokens.size())) {
        cell = std::clamp(widest_panel / static_cast<double>(std::max<int64_t>(count, 1)), smallest_cell, largest_cell);
        size_t longest = 0;
        for (const std::string &token : trace.tokens)
            longest = std::max(longest, gpt::characters_of(token).size());
        label = has_labels() ? 8 + 0.5 * cell * static_cast<double>(longest) : 8;
        panel = label + cell * static_cast<double>(count) + margin;
    }
    bool has_labels() const { return cell >= 8; } // smaller letters can't be read
};

/** The cells the mask forbids: each run along a row as one rectangle, in units of cells. */
std::string masked_cells(const Trace &trace, int64_t count) {
    std::string path;
    for (int64_t row = 0; row < count; ++row)
        for (int64_t column = 0; column < count; ++column) {
            const int64_t begin = column;
            while (column < count && !trace.allowed[static_cast<size_t>(row * count + column)])
                ++column;
            if (column > begin) path += fmt::format("M{} {}h{}v1h{}z", begin, row, column - begin, begin - column);
        }
    return path;
}

std::string labels(const Trace &trace, const Layout &layout) {
    std::string text;
    for (int64_t i = 0; layout.has_labels() && i < layout.count; ++i) {
        const std::string token = escaped(trace.tokens[static_cast<size_t>(i)]);
        const double middle = static_cast<double>(i) + 0.75;
        text += fmt::format("<text x=\"-0.25\" y=\"{:g}\" text-anchor=\"end\">{}</text>\n", middle, token);
        text += fmt::format("<text transform=\"translate({:g} -0.25) rotate(-90)\">{}</text>\n", middle, token);
    }
    return text;
}

std::string cells(const Trace &trace, const float *weights, int64_t count) {
    std::string text;
    for (int64_t row = 0; row < count; ++row)
        for (int64_t column = 0; column < count; ++column) {
            const double weight = weights[row * count + column];
            if (weight < least_weight) continue;
            text += fmt::format(
                "<rect x=\"{}\" y=\"{}\" width=\"1\" height=\"1\" fill-opacity=\"{:.3f}\"><title>{} → {}: {:.3f}</title></rect>\n", column,
                row, weight, escaped(trace.tokens[static_cast<size_t>(row)]), escaped(trace.tokens[static_cast<size_t>(column)]), weight);
        }
    return text;
}

std::string panel(const Trace &trace, const Layout &layout, int64_t layer, int64_t head, double x, double y) {
    const int64_t count = layout.count;
    const float *weights = trace.weights.data() + (layer * trace.heads + head) * count * count;
    return fmt::format("<g class=\"panel\" data-layer=\"{0}\" data-head=\"{1}\" transform=\"translate({2:g} {3:g}) scale({4:g})\">\n"
                       "<path class=\"masked\" d=\"{5}\"/>\n{6}{7}<rect class=\"frame\" width=\"{8}\" height=\"{8}\"/></g>\n",
                       layer, head, x, y, layout.cell, masked_cells(trace, count), cells(trace, weights, count), labels(trace, layout),
                       count);
}

constexpr const char *style = "body{margin:0;background:#fff}svg{font-family:sans-serif;fill:#333}"
                              ".panel{font-size:.8px}.panel rect{fill:#1d4ed8}.panel .masked{fill:#ddd}"
                              ".panel .frame{fill:none;stroke:#888;stroke-width:.06}.panel rect,.masked{shape-rendering:crispEdges}";

} // namespace

std::string shown_text(const std::string &text) {
    std::string shown;
    for (const gpt::Character &character : gpt::characters_of(text)) {
        const std::string bytes = text.substr(character.begin, character.size);
        const bool is_invalid = character.code_point == 0xfffd && character.size == 1;
        if (is_invalid || (character.code_point < ' ' && bytes != "\n") || character.code_point == 0x7f)
            shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
        else
            shown += bytes == "\n" ? "⏎" : bytes;
    }
    return shown;
}

std::string shown_token(const std::string &piece) {
    std::string shown = shown_text(piece);
    for (size_t at = shown.find(' '); at != std::string::npos; at = shown.find(' ', at))
        shown.replace(at, 1, "␣");
    return shown;
}

std::string trace_page(const Trace &trace) {
    const Layout layout(trace);
    const double top = margin + 3 * line_height, row = layout.panel + line_height;
    const double width = std::max(2 * margin + static_cast<double>(trace.heads) * layout.panel, 640.0);
    const double height = top + static_cast<double>(trace.layers) * row + margin;
    std::string page =
        fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n<style>{1}</style></head>"
                    "<body>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{2:g}\" height=\"{3:g}\">\n",
                    escaped(trace.title), style, width, height);
    page += fmt::format("<text x=\"{:g}\" y=\"{:g}\" font-size=\"16\">{}</text>\n", margin, margin + 12, escaped(trace.title));
    page +=
        fmt::format("<text x=\"{:g}\" y=\"{:g}\" font-size=\"12\">Weights of attention: a row a layer, a panel a head; queries down, keys "
                    "across. Blue: the weight. Grey: masked by {}.</text>\n",
                    margin, margin + 12 + line_height, escaped(trace.mask));
    for (int64_t layer = 0; layer < trace.layers; ++layer)
        for (int64_t head = 0; head < trace.heads; ++head) {
            const double x = margin + static_cast<double>(head) * layout.panel, y = top + static_cast<double>(layer) * row;
            page += fmt::format("<text x=\"{:g}\" y=\"{:g}\" font-size=\"12\">layer {}, head {}</text>\n", x + layout.label, y + 4, layer,
                                head);
            page += panel(trace, layout, layer, head, x + layout.label, y + layout.label + 8);
        }
    return page + "</svg>\n</body></html>\n";
}

} // namespace attune::tools
