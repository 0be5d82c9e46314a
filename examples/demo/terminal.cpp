#include "terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

namespace demo {

std::string Terminal::bold(std::string_view text) const { return colours_ ? fmt::format("\033[1m{}\033[0m", text) : std::string(text); }

std::string Terminal::faint(std::string_view text) const { return colours_ ? fmt::format("\033[2m{}\033[0m", text) : std::string(text); }

std::string Terminal::heat(std::string_view text, double share) const {
    if (!colours_) return std::string(text);
    constexpr int ramp[] = {17, 18, 19, 25, 31, 37, 36, 71, 107, 143, 179, 221}; // of the 256 colours: dark blue to yellow
    constexpr int steps = sizeof(ramp) / sizeof(ramp[0]);
    // The square root spreads the small weights, which are most.
    const int step = std::clamp(static_cast<int>(std::sqrt(share) * steps), 0, steps - 1);
    return fmt::format("\033[48;5;{};38;5;{}m{}\033[0m", ramp[step], step < steps / 2 ? 15 : 16, text);
}

bool terminal_has_colours() {
    const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && (!no_color || !*no_color) && (!term || std::string_view(term) != "dumb");
}

} // namespace demo
