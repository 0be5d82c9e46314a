// Errors of the command: one sentence and the exit code it ends with.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/attune.hpp"

namespace attune::tools {

inline constexpr int exit_failure = 1;      // the machine's fault: disk full, out of memory, a kernel's own error
inline constexpr int exit_bad_argument = 2; // the caller's: an option, a file's content, shapes that disagree

/** A sentence that names the subject, its value and the limit, and the exit code. main() prints it and ends. */
class CommandError : public std::runtime_error {
public:
    CommandError(int code, const std::string &sentence) : std::runtime_error(sentence), exit_code(code) {}
    int exit_code;
};

/** Ends the command with exit code 2. */
template <typename... Args> [[noreturn]] void bad_argument(fmt::format_string<Args...> format, Args &&...args) {
    throw CommandError(exit_bad_argument, fmt::format(format, std::forward<Args>(args)...));
}

/** Ends the command with exit code 1. */
template <typename... Args> [[noreturn]] void failure(fmt::format_string<Args...> format, Args &&...args) {
    throw CommandError(exit_failure, fmt::format(format, std::forward<Args>(args)...));
}

/** Passes the library's message on. What the caller asked for wrongly, or nothing linked in does, is a bad argument. */
inline void require_ok(const Status &status) {
    if (status.ok()) return;
    const bool caller = status.code == ATTUNE_INVALID_ARGUMENT || status.code == ATTUNE_UNSUPPORTED;
    throw CommandError(caller ? exit_bad_argument : exit_failure, status.message);
}

} // namespace attune::tools
