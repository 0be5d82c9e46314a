// Text in SVG and HTML.
#pragma once

#include <string>

namespace attune::tools {

/** With what is markup as entities: fit for text, and for attributes in double quotes. */
inline std::string escaped(const std::string &text) {
    std::string result;
    for (const char c : text)
        result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
    return result;
}

} // namespace attune::tools
