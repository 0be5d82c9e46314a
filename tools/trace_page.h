// The page of `attune trace`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune::tools {

/** What a model attends to in one text of N tokens. */
struct Trace {
    std::string title, mask;
    std::vector<std::string> tokens; // as they are shown
    std::vector<uint8_t> allowed;    // [N, N]: 1 where the mask lets the query (row) attend to the key (column)
    int64_t layers = 0, heads = 0;
    std::vector<float> weights; // [layers, heads, N, N]
};

/** Weights below this aren't drawn. */
inline constexpr double least_weight = 0.002;

/** A page of HTML that needs nothing else: one drawing in SVG, a row of panels a layer, a panel a head. A panel's cell is a query (down)
 * and a key (across): grey where the mask forbids it, otherwise as blue as its weight. */
std::string trace_page(const Trace &trace);

/** A text so that it can be read in one line, in UTF-8: a sign for line ends, \x.. for other control characters and for what is no UTF-8.
 */
std::string shown_text(const std::string &text);

/** The same of a piece of a text, with signs for its spaces. */
std::string shown_token(const std::string &piece);

} // namespace attune::tools
