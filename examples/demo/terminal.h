// Text with and without colours.
#pragma once

#include <string>
#include <string_view>

namespace demo {

class Terminal {
public:
    explicit Terminal(bool colours) : colours_(colours) {}

    std::string bold(std::string_view text) const;
    std::string faint(std::string_view text) const;
    /** The text on a background from dark (share 0) to bright (1). */
    std::string heat(std::string_view text, double share) const;

private:
    bool colours_;
};

/** Whether standard output is a terminal whose user wants colours: NO_COLOR (no-color.org) and TERM=dumb say no. */
bool terminal_has_colours();

} // namespace demo
