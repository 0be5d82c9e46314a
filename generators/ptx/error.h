// What the PTX pass throws.
#pragma once

#include <stdexcept>
#include <string>

namespace attune::ptx {

/** One sentence that says what is wrong, and the PTX it is about. */
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
    Error(const std::string &sentence, int line, const std::string &text)
        : std::runtime_error("PTX line " + std::to_string(line) + ": " + sentence + ":\n    " + text) {}
};

} // namespace attune::ptx
